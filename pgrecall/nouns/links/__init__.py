"""Links between memories."""
