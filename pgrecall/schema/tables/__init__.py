"""The tables of schema ``recall``, described once for revisions and checks."""
