"""Every face through PgBouncer in transaction mode. Skipped where the program is not installed."""
