"""A second pair of eyes: what pgrecall should answer, in plain Python from the documentation alone."""
