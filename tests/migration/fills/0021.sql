-- An index is built anew from the memories that are there.

SELECT;
