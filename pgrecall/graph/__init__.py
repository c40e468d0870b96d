"""The link graph as pure mathematics: which memories keep it connected.

Links come in as ids; nothing here reads a database, a clock or the environment. Plain Python is
enough; where numba is installed, large graphs run compiled.
"""
