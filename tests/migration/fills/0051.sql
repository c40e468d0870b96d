-- Two types of the results of functions; no table has them.

SELECT;
