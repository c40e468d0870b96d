"""The values that cross pgrecall's borders: frozen, typed, without behaviour of their own.

All times are timezone-aware datetimes; all shares, probabilities and vitalities lie in [0, 1].

The modules are named as the groups of the client are; ``imports`` is what an import did.
"""
