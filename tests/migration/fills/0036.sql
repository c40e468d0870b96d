-- Stored statements may be changes; nothing is stored in another way.

SELECT;
