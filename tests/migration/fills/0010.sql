-- Nothing: its indexes hold what the tables do.

SELECT;
