-- Who holds tables of schema recall in a transaction: the oldest first. Other roles' times are told to few.
SELECT l.pid, coalesce(a.usename, '?') AS role, a.xact_start AS since, min(c.relname) AS relation
FROM pg_locks l
JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'recall'
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
GROUP BY l.pid, a.usename, a.xact_start
ORDER BY a.xact_start, l.pid
LIMIT 1
