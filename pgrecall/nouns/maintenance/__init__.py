"""Maintenance and checks of a tenant's data."""
