-- Tables, views and functions of other schemas, and publications, that depend on the memories here: to drop these would drop
-- a part of them. And triggers here that call functions of other schemas.
SELECT DISTINCT pg_describe_object(o.class, o.id, 0) AS object
FROM pg_depend d
CROSS JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) r
LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
LEFT JOIN pg_attrdef t ON d.classid = 'pg_attrdef'::regclass AND t.oid = d.objid
LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
CROSS JOIN LATERAL (SELECT coalesce(w.ev_class, nullif(k.conrelid, 0), t.adrelid, g.tgrelid) AS relation) h
CROSS JOIN LATERAL (
    SELECT CASE WHEN h.relation IS NULL THEN d.classid ELSE 'pg_class'::regclass END AS class, coalesce(h.relation, d.objid) AS id
) o
CROSS JOIN LATERAL pg_identify_object(o.class, o.id, 0) i
WHERE d.deptype IN ('n', 'a') AND coalesce(r.schema, r.name) IN ('recall', 'recall_private')
  AND (i.schema NOT IN ('recall', 'recall_private')
       OR d.classid IN ('pg_publication_rel'::regclass, 'pg_publication_namespace'::regclass))
UNION
SELECT pg_describe_object('pg_trigger'::regclass, g.oid, 0)
FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_proc p ON p.oid = g.tgfoid
WHERE NOT g.tgisinternal AND c.relnamespace::regnamespace::text IN ('recall', 'recall_private')
  AND p.pronamespace::regnamespace::text NOT IN ('recall', 'recall_private')
ORDER BY object
