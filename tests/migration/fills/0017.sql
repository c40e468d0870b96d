-- Nothing yet: versions.

SELECT;
