"""Faults against the real server: what was acknowledged is there once, and everything agrees."""
