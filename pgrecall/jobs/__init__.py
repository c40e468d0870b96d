"""Maintenance that runs by itself: bounded steps under a lock, safe to kill at any instant and to run twice.

job         what a job is, and what it is given to work with
catalogue   every job there is, and the state of each
embedding   the jobs that embed
attempt     one attempt to run a job for one tenant
sessions    the connections of running attempts
runner      a job for many tenants, with retries
worker      every job at its interval
"""
