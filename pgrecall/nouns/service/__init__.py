"""The database as the operator of a service sees it."""
