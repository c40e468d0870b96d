"""Charts as SVG, drawn from plain data, for the web page, the reports of prune plans, and files."""
