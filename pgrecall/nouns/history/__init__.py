"""Past vitality and zones."""
