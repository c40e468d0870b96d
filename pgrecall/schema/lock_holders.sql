-- Who holds tables of schema recall in a transaction: the oldest first. Other roles' times are told to few.
-- A prepared transaction has no process: it outlives its session and the server, and has to be ended by its name.
SELECT l.pid, coalesce(a.usename, p.owner, '?') AS role, coalesce(a.xact_start, p.prepared) AS since,
    min(c.relname) AS relation, p.gid AS prepared
FROM pg_locks l
JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'recall'
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
LEFT JOIN pg_locks t ON l.pid IS NULL AND t.pid IS NULL AND t.locktype = 'transactionid'
    AND t.virtualtransaction = l.virtualtransaction
LEFT JOIN pg_prepared_xacts p ON p.transaction = t.transactionid
WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
GROUP BY l.pid, a.usename, a.xact_start, p.owner, p.prepared, p.gid
ORDER BY coalesce(a.xact_start, p.prepared), l.pid
LIMIT 1
