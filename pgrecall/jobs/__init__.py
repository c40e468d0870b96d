"""Scheduled maintenance: bounded steps under a lock, safe to kill at any time and to run twice.

job         a job, its task and its context
catalogue   every job, and its state
alerts      the job that reports alarms, and the hook it calls
embedding   the jobs that embed
attempt     one attempt to run a job for one tenant, and its connection
runner      a job for many tenants, with retries
worker      runs every job at its interval
"""
