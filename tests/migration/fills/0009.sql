-- Nothing: a column went with it that is computed where it is read.

SELECT;
