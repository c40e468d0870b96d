"""Versions of memories, and changes of a tenant."""
