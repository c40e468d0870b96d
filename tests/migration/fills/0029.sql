-- The words are read anew from the memories that are there, where they change.

SELECT;
