"""Connecting editors and agents to pgrecall: where each keeps its settings, and how they are changed."""
