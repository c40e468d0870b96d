-- The text index keeps a shorter pending list; nothing is stored in another way.

SELECT;
