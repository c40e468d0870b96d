"""Backups of a whole database."""
