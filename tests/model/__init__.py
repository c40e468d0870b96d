"""What pgrecall should do, in plain Python from the documentation alone, and acts to hold it against.

A `Book` is the model of one tenant. `acts` call pgrecall and the book alike, and `Judge` compares the two.
There are two drivers: `tests/stateful` plays two tenants in SQL and compares after every step,
`tests/oracle` eight through every face, with faults between. It imports no mathematics of pgrecall.
"""
