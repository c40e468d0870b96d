"""ACT-R vitality as pure mathematics: ages in, activation and vitality out.

Ages are in days, times in seconds since 1970-01-01 UTC, and ``now`` is always an argument.
Nothing here reads a clock, a database or the environment.
"""
