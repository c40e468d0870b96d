"""Searches, their hits and their explanations."""
