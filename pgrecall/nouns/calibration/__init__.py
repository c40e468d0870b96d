"""Calibration: coefficients of the ranking, fitted to judged queries."""
