-- What a role may do in a database that need not hold pgrecall yet: one row. `unaccent` is installed, offered or absent;
-- `owned` whether this role may upgrade the schema, `usable` whether it may use memories; both NULL
-- without a schema.
SELECT (SELECT CASE WHEN a.installed_version IS NULL THEN 'offered' ELSE 'installed' END
        FROM pg_available_extensions a WHERE a.name = 'unaccent') AS unaccent,
       (SELECT pg_has_role(n.nspowner, 'SET') FROM pg_namespace n WHERE n.nspname = 'recall') AS owned,
       (SELECT bool_and(has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE'))
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'recall' AND p.proname IN ('get', 'search')) AS usable
