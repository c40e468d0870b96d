-- A coefficient is gone; nothing is stored that was not.

SELECT;
