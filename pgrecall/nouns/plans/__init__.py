"""Plans: prune, dedupe and merge."""
