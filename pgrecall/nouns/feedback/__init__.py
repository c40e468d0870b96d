"""Feedback: verdicts on what searches showed."""
