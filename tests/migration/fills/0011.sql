-- Nothing: an index and two types, which tables do not use.

SELECT;
