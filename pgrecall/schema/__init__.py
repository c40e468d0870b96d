"""All SQL: tables, revisions and functions, and the code that applies them."""
