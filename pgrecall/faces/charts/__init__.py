"""Charts as SVG, each made once from plain data: for the page, the report of a prune plan, and files."""
