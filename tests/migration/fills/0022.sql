-- An index is built anew from the links that are there.

SELECT;
