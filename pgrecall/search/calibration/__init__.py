"""Fitting relevance coefficients to judged queries."""
