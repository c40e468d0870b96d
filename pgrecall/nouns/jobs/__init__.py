"""Jobs: their intervals, runs and states."""
