"""Redact plans: secrets in stored texts."""
