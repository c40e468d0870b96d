-- Two columns have no samples any more; their rows stay as they are.

SELECT;
