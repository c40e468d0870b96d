"""Values that the client takes and returns, as frozen dataclasses.

All times are timezone-aware datetimes; all shares, probabilities and vitalities lie in [0, 1].

The modules are named after the groups of the client.
"""
