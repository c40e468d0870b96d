-- An index is new; nothing is stored that was not.

SELECT;
