-- Nothing yet: cells.

SELECT;
