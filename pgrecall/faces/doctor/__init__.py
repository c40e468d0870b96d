"""Findings about an installation, each with the command that mends it."""
