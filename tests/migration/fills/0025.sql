-- A type has another name; no row changes.

SELECT;
