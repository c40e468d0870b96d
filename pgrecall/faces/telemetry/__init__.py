"""Metrics for Prometheus and OpenTelemetry spans, the same for every interface.

tracing     spans of requests, commands, tool calls, runs of jobs and phases of searches
metrics     figures of calls, searches and runs
census      figures of the whole database
telemetry   one object that passes a call, a search or a run on to both
runs        runs of jobs, as they are logged
"""
