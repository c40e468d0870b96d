"""An independent oracle: what pgrecall should answer, in plain Python from the documentation alone."""
