"""Charts and the HTML report of a prune plan."""
