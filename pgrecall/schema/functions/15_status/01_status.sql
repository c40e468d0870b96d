-- The state of a tenant, of the schema and of the whole database.

-- status (reader; State): the contents and the state of this tenant at p_now, as one JSON document. Links are those
-- made by hand or by drafts, not associations.
CREATE OR REPLACE FUNCTION recall.status(p_now timestamptz DEFAULT now()) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    RETURN (
        SELECT to_jsonb(h) - 'reported_at' || jsonb_build_object(
            'access_counts', recall_private.access_counts(v_tenant),
            'links', (SELECT count(*) FROM recall.link l WHERE l.tenant = v_tenant AND l.relation <> 'co_access'),
            'links_pending', recall.count_pending_links(),
            'passages', (SELECT coalesce(sum(m.passage_count), 0) FROM recall.memory m WHERE m.tenant = v_tenant),
            'awaiting_passages', (SELECT count(*) FROM recall.memory m
                                  WHERE m.tenant = v_tenant AND recall_private.awaits_passages(m)),
            'embedder', recall_private.setting_value('*', 'embedding.model'),
            'dimensions', recall_private.setting_value('*', 'embedding.dimensions'),
            'cell', recall_private.cell_number(), 'language', recall_private.language(v_tenant), 'accents_off', recall_private.removes_accents(),
            'statistics_at', (SELECT s.value FROM recall.setting s
                              WHERE s.tenant = v_tenant AND s.name = 'statistics_at'))
        FROM recall.health_report(p_now) h);
END $$;

-- installation (reader; State): the installed revision of the tables, the fingerprint of the functions, and the
-- dimensions of the embeddings; NULL if unknown.
CREATE OR REPLACE FUNCTION recall.installation() RETURNS TABLE (revision text, functions text, dimensions int)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT (SELECT v.version_num FROM recall.alembic_version v),
           recall_private.setting_value('*', 'schema.functions') #>> '{}', recall_private.setting_value('*', 'embedding.dimensions')::int
$$;

-- The comment on recall.installation names the oldest clients that these functions serve (schema/compatibility.py). Name
-- the newest revision here when a function is called as before but means something else.
COMMENT ON FUNCTION recall.installation() IS 'Serves clients of schema 0020 and newer.';

-- schema_state (reader; State): the revision of the tables and the fingerprint of the functions after the last upgrade.
CREATE OR REPLACE FUNCTION recall.schema_state() RETURNS TABLE (revision text, functions text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT (SELECT v.version_num FROM recall.alembic_version v),
           (SELECT s.value #>> '{}' FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'schema.functions')
$$;

-- job_census: for each job, by name: the number of tenants it last ran for, how many of these runs are running and
-- how many failed, and when the newest successful one ended. Runs under names that pgrecall does not know are left out:
-- a tenant can choose such a name, and everybody can read these figures.
CREATE OR REPLACE FUNCTION recall_private.job_census() RETURNS jsonb
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.job), '[]')
    FROM (
        SELECT r.job, count(*) AS tenants,
               count(*) FILTER (WHERE recall_private.current_run_state(r) = 'running') AS running,
               count(*) FILTER (WHERE r.state = 'failed') AS failed,
               recall_private.epoch(max(r.finished_at) FILTER (WHERE r.state = 'done')) AS done_at
        -- Two parts, so that a role bound to a tenant does not read the runs of another.
        FROM (SELECT recall_private.bound_tenant() AS tenant OFFSET 0) b
        CROSS JOIN LATERAL (
            SELECT o.tenant, o.job FROM recall.job_run o WHERE b.tenant = '*'
            UNION SELECT o.tenant, o.job FROM recall.job_run o WHERE o.tenant IN (b.tenant, '*')) j
        CROSS JOIN LATERAL recall_private.last_run(j.tenant, j.job) r
        WHERE recall_private.is_known_job(j.job)
        GROUP BY r.job) c
$$;

-- census (app; State): figures of the whole database in one document: live memories by layer and zone, by their
-- vitality at the last run of the job vitality (zone null before), archived memories, memories that wait to be
-- embedded, accesses that wait to be folded, and the jobs. Layers created by tenants are counted as `other`, since a
-- name can be confidential. It reads every memory: call it at most once a minute.
CREATE OR REPLACE FUNCTION recall.census() RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    WITH seen AS MATERIALIZED (SELECT k.tenant FROM recall.tenants() k(tenant)), ruled AS MATERIALIZED (
        SELECT t.tenant, t.weights, l.name, l::recall.layer_in_force AS layer
        FROM (SELECT s.tenant, recall_private.vitality_weights(s.tenant) AS weights FROM seen s OFFSET 0) t
        CROSS JOIN LATERAL recall_private.effective_layers(t.tenant) l
    ), counted AS MATERIALIZED (
        -- By tenant, so that a role bound to a tenant does not read the rows of another.
        SELECT c.* FROM seen s CROSS JOIN LATERAL (
            SELECT m.layer, CASE WHEN num_nulls(a.vitality, r.name) = 0 THEN recall_private.zone_of(
                       recall_private.retention_of(a.vitality, a.protected OR m.pinned, r.weights), r.layer) END AS zone,
                   m.archived_at IS NULL AS live, m.embedded_with IS NULL AS bare, count(*) AS memories
            FROM recall.memory m
            JOIN recall.activation a ON a.tenant = s.tenant AND a.memory_id = m.id
            LEFT JOIN ruled r ON r.tenant = s.tenant AND r.name = m.layer
            WHERE m.tenant = s.tenant
            GROUP BY 1, 2, 3, 4 OFFSET 0) c
    ), zoned AS (
        SELECT coalesce(l.name, 'other') AS layer, c.zone, sum(c.memories)::bigint AS memories
        FROM counted c LEFT JOIN recall.layer l ON l.tenant = '*' AND l.name = c.layer
        WHERE c.live GROUP BY 1, 2
    )
    SELECT jsonb_build_object(
        'zones', (SELECT coalesce(jsonb_agg(to_jsonb(z) ORDER BY z.layer, z.zone), '[]') FROM zoned z),
        'archived', (SELECT coalesce(sum(c.memories), 0) FROM counted c WHERE NOT c.live),
        'awaiting_embedding', (SELECT coalesce(sum(c.memories), 0) FROM counted c WHERE c.bare),
        'accesses_waiting', (SELECT coalesce(sum(cardinality(q.memory_ids)), 0)
                             FROM seen s CROSS JOIN LATERAL (
                                 SELECT q.memory_ids FROM recall.access_queue q WHERE q.tenant = s.tenant OFFSET 0) q),
        'jobs', recall_private.job_census())
$$;
