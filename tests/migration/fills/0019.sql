-- Nothing yet: reading.

SELECT;
