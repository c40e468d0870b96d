"""The command ``pgrecall``."""
