"""Memories and their accesses."""
