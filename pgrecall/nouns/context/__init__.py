"""Contexts: memories for the prompt of a model."""
