"""Measurements: quality and speed, each printing figures side by side. Run them as modules."""
