"""Where the processor time of a search goes."""
