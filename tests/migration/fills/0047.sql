-- What is stored keeps the rules already; a column of a result has another type.

SELECT;
