-- What a role may do in a database that need not hold pgrecall yet: one row. `unaccent` is installed, offered or absent;
-- `owned` whether this role may upgrade the schema, `usable` whether it may read and write memories; both NULL
-- without a schema.
SELECT (SELECT CASE WHEN a.installed_version IS NULL THEN 'offered' ELSE 'installed' END
        FROM pg_available_extensions a WHERE a.name = 'unaccent') AS unaccent,
       (SELECT pg_has_role(n.nspowner, 'USAGE') FROM pg_namespace n WHERE n.nspname = 'recall') AS owned,
       (SELECT bool_and(has_schema_privilege(n.oid, 'USAGE')
                        AND has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                        AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'recall' AND c.relname IN ('memory', 'access', 'activation', 'link')) AS usable
