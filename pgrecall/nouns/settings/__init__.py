"""Settings and languages of a tenant."""
