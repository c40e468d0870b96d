"""The values that cross pgrecall's borders: frozen, typed, without behaviour of their own.

All times are timezone-aware datetimes; all shares, probabilities and vitalities lie in [0, 1].

memories    what is remembered, its vitality and its links
use         accesses
search      questions and answers
context     a block of text for a prompt
export      a tenant as lines of JSON
feedback    what became of what was shown
prune       prune plans and what became of them
pictures    what pictures are drawn from
overview   how lively all memories are
calibration judged queries, coefficients, and how well they fit
layers      layers, settings and languages
keys        keys of the HTTP service
service     figures of a whole database
jobs        what jobs did, and where they stand
reports     imports, the link graph, the state of a tenant
"""
