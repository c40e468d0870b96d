-- Nothing: what came with it are indexes, and a type that no column has.

SELECT;
