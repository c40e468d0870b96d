-- Tables, views and functions of other schemas that depend on the memories here: to drop these would drop a part of them.
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
WHERE d.deptype IN ('n', 'a') AND r.schema IN ('recall', 'recall_private') AND i.schema NOT IN ('recall', 'recall_private')
ORDER BY object
