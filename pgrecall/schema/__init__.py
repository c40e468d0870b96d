"""The only home of SQL: tables, revisions, functions, and the one who applies them."""
