-- Nothing yet: duplicates.

SELECT;
