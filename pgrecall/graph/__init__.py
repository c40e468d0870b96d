"""The link graph as pure mathematics: what holds it together, and what may go without cutting it.

Links come in as ids; nothing here reads a database, a clock or the environment. Plain Python is
enough; where numba is installed the same functions run compiled.
"""
