"""Tenant ``acme`` attacks tenant ``globex``: as a login role of its own, over a real connection."""
