"""The router on Citus: wrappers on a coordinator, whose workers are the cells."""
