-- What the arms find is a value within a search; nothing of it is stored.

SELECT;
