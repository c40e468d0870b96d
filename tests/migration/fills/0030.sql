-- What a model takes from memories without a number is a default of the upgrade.

SELECT;
