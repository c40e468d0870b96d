-- What was compared before is compared again; nothing new is stored.

SELECT;
