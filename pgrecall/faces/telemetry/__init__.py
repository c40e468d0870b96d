"""Metrics for Prometheus and OpenTelemetry spans, the same for every interface.

tracing     spans of requests, commands, tool calls, runs and phases of searches
metrics     figures of calls, searches and runs
census      figures of the whole database
telemetry   passes calls, searches and runs on to both
"""
