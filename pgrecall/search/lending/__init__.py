"""Models lent by a running service."""
