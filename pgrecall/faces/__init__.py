"""The faces of pgrecall: thin layers on the client, each for another kind of caller.

cli         the command `pgrecall`: a file for each noun, and `rendering` for what is printed
"""
