"""Rerankers: a model reads the query together with each candidate."""
