"""Markdown notes, Obsidian style."""
