"""What happens: each act calls pgrecall through a face and the model, and compares what they answer."""
