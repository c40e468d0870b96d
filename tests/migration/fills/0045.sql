-- A column of a result has another type; nothing is stored that was not.

SELECT;
