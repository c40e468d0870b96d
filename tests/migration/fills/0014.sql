-- Nothing.

SELECT;
