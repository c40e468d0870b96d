"""Readers: tenants with which a tenant is shared."""
