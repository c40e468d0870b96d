"""The faces of pgrecall: thin layers on the client, each for another kind of caller.

cli         the command `pgrecall`; cli_* hold its commands, the rest how they read and show values
"""
