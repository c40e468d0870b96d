"""Upkeep that runs by itself: bounded steps under a lock, safe to kill at any instant and to run twice.

steps      what a job is made of
catalogue  every job there is
embedding  the jobs that embed
attempt    one attempt at one job for one tenant
lines      the connections attempts go over
runner     a job for many tenants, with retries
standing   where each job stands
worker     every job at its interval
"""
