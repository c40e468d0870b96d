-- A type of functions has another attribute; no table has it.

SELECT;
