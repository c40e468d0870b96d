"""Output of results on a terminal."""
