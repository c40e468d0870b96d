"""Chat transcripts."""
