-- What of pgrecall is installed in a database that has its tables.
SELECT
    (SELECT version_num FROM recall.alembic_version) AS revision,
    (SELECT value #>> '{}' FROM recall.setting WHERE tenant = '*' AND name = 'schema.functions') AS functions,
    (
        SELECT value::integer FROM recall.setting WHERE tenant = '*' AND name = 'embedding.dimensions'
    ) AS dimensions
