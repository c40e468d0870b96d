"""Exports: a tenant as a whole, from one database to another."""
