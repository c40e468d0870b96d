"""How results look on a terminal."""
