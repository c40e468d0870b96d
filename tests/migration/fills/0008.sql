-- Nothing: what came with it is an index, and a type that no column has.

SELECT;
