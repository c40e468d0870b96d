-- Nothing: coefficients with defaults.

SELECT;
