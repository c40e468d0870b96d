-- A function is faster and answers the same.

SELECT;
