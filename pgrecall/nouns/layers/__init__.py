"""Layers: how fast memories fade."""
