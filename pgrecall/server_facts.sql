-- What a server is and has, before any schema of ours is there: one row.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS version_text,
       current_user AS role,
       current_database() AS database,
       current_setting('server_encoding') AS encoding,
       current_setting('session_replication_role') <> 'replica' AS runs_triggers,
       has_database_privilege(current_database(), 'CREATE') AS may_create,
       coalesce((
           SELECT jsonb_object_agg(a.name, jsonb_build_object(
               'offered', a.default_version, 'installed', e.extversion,
               'creatable', v.trusted OR NOT v.superuser OR current_setting('is_superuser')::boolean))
           FROM pg_available_extensions a
           JOIN pg_available_extension_versions v ON v.name = a.name AND v.version = a.default_version
           LEFT JOIN pg_extension e ON e.extname = a.name
           WHERE a.name IN ('vector', 'pg_trgm')), '{}') AS extensions
