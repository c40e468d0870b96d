"""The quality of searches: reports, misses, replays and experiments."""
