"""The status of a tenant."""
