"""Rerankers: a model reads the question beside each candidate."""
