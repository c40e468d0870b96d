-- What the memories say is found out by the upgrade.

SELECT;
