"""Imports: their report, and what of them can be undone."""
