"""Erasure of all that is known of a subject, and its report."""
