-- Functions get another schema; nothing is stored in another way.

SELECT;
