"""The data of charts."""
