-- Storing drafts: their rows, what each is born with, and what is logged of it.

-- store_alone: store_drafts as if nobody else stored these keys: what the drafts change is locked before it is looked
-- at, and where another transaction has just created one of them, once more from the beginning, now that it is there.
CREATE OR REPLACE FUNCTION recall.store_alone(
    p_tenant text, p_items jsonb, p_embedded_with text, p_revive boolean, p_now timestamptz
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_keys text[] := CASE jsonb_typeof(p_items)
        WHEN 'array' THEN ARRAY(SELECT e.value ->> 'key' FROM jsonb_array_elements(p_items) e) END;
    v_result jsonb;
BEGIN
    LOOP
        PERFORM FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.key = ANY (v_keys) ORDER BY m.key, m.id FOR NO KEY UPDATE;
        BEGIN
            v_result := recall.store_drafts(p_tenant, p_items, p_embedded_with, p_revive, p_now);
            IF NOT jsonb_path_exists(v_result, '$[*].overtaken ? (@ == true)') THEN
                RETURN v_result;
            END IF;
            RAISE SQLSTATE 'RC001';
        EXCEPTION WHEN SQLSTATE 'RC001' THEN
            NULL;
        END;
    END LOOP;
END $$;

-- store_drafts: upserts the drafts that have no problem, gives new ones their activation (creation is the
-- first access), logs a write of those whose text changed or that come back, and returns [{item, id, key, outcome,
-- problem, rewritten, overtaken}]: rewritten where the text changed, overtaken where what it was before is not known.
CREATE OR REPLACE FUNCTION recall.store_drafts(
    p_tenant text, p_items jsonb, p_embedded_with text, p_revive boolean, p_now timestamptz
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_language text := recall.language(p_tenant);
    v_result jsonb;
    v_embedded bigint[];
    v_embeddings halfvec[];
BEGIN
    WITH draft AS MATERIALIZED (
        SELECT d.*, CASE WHEN d.problem IS NULL
                    THEN nextval(pg_get_serial_sequence('recall.memory', 'id')) END AS new_id
        FROM recall.parse_drafts(p_tenant, p_items, p_now) d
    ), earlier AS MATERIALIZED (
        SELECT m.id, m.content_hash, m.archived_at IS NOT NULL AS archived
        FROM draft d JOIN recall.memory m ON m.tenant = p_tenant AND m.key = d.key
    ), stored AS (
        INSERT INTO recall.memory AS m (
            tenant, id, key, layer, title, body, role, author, context, source, session_id, tags, aliases,
            metadata, occurred_at, valid_from, valid_until, expires_at, pinned, created_at, updated_at,
            embedded_with, language)
        OVERRIDING SYSTEM VALUE
        SELECT p_tenant, d.new_id, d.key, d.layer, d.title, d.body, d.role, d.author, d.context, d.source,
               d.session_id, d.tags, d.aliases, d.metadata, d.occurred_at, d.valid_from, d.valid_until,
               d.expires_at, d.pinned, p_now, p_now,
               CASE WHEN d.embedding IS NOT NULL THEN p_embedded_with END, v_language
        FROM draft d
        WHERE d.problem IS NULL
        ORDER BY d.key, d.item
        ON CONFLICT (tenant, key) DO UPDATE SET
            layer = excluded.layer, title = excluded.title, body = excluded.body, role = excluded.role,
            author = excluded.author, context = excluded.context, source = excluded.source,
            session_id = excluded.session_id, tags = excluded.tags, aliases = excluded.aliases,
            metadata = excluded.metadata, occurred_at = excluded.occurred_at,
            valid_from = excluded.valid_from, valid_until = excluded.valid_until,
            -- A draft can pin; taking a pin away is left to `pin`, or every import would do it.
            expires_at = excluded.expires_at, pinned = m.pinned OR excluded.pinned, updated_at = excluded.updated_at,
            archived_at = NULL,
            embedded_with = CASE WHEN excluded.embedded_with IS NOT NULL THEN excluded.embedded_with
                                 WHEN excluded.content_hash = m.content_hash THEN m.embedded_with END
        WHERE (m.layer, m.title, m.body, m.role, m.author, m.context, m.source, m.session_id, m.tags,
               m.aliases, m.metadata, m.occurred_at, m.valid_from, m.valid_until, m.expires_at, m.pinned)
              IS DISTINCT FROM
              (excluded.layer, excluded.title, excluded.body, excluded.role, excluded.author,
               excluded.context, excluded.source, excluded.session_id, excluded.tags, excluded.aliases,
               excluded.metadata, excluded.occurred_at, excluded.valid_from, excluded.valid_until,
               excluded.expires_at, m.pinned OR excluded.pinned)
           OR (excluded.embedded_with IS NOT NULL AND m.embedded_with IS DISTINCT FROM excluded.embedded_with)
           OR (p_revive AND m.archived_at IS NOT NULL)
        RETURNING m.id, m.key, m.layer, m.content_hash, coalesce(m.occurred_at, p_now) AS born_at
    ), placed AS (
        SELECT d.item, d.key, d.problem, d.embedding, coalesce(s.id, k.id) AS id,
               CASE WHEN d.problem IS NOT NULL THEN 'rejected'
                    WHEN s.id IS NOT NULL THEN 'created'
                    WHEN e.archived THEN 'revived'
                    WHEN k.id IS NOT NULL THEN 'updated'
                    ELSE 'unchanged' END AS outcome,
               coalesce(s.layer, k.layer) AS layer, least(coalesce(s.born_at, p_now), p_now) AS born_at,
               e.archived OR e.content_hash <> k.content_hash AS rewritten,
               k.id IS NOT NULL AND e.id IS NULL AS overtaken
        FROM draft d
        LEFT JOIN stored s ON s.id = d.new_id
        LEFT JOIN stored k ON s.id IS NULL AND k.key = d.key AND d.problem IS NULL
        LEFT JOIN earlier e ON e.id = k.id
    ), born AS (
        INSERT INTO recall.activation (
            tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, credit, folded_until, decay, clock)
        SELECT p_tenant, p.id, b.n, b.at, b.at,
               CASE WHEN b.n >= 2 THEN b.at END, CASE WHEN b.n >= 3 THEN b.at END,
               CASE WHEN b.n >= 4 THEN b.at END, CASE WHEN b.n >= 5 THEN b.at END,
               CASE WHEN b.n >= 6 THEN b.at END, CASE WHEN b.n >= 7 THEN b.at END,
               CASE WHEN b.n >= 8 THEN b.at END,
               b.credit, p.born_at, l.decay, l.clock
        FROM placed p
        JOIN recall.layers_of(p_tenant) l ON l.name = p.layer
        CROSS JOIN LATERAL (
            SELECT recall.millionths(l.birth_weight) / 1000000 AS n, recall.epoch(p.born_at) AS at,
                   recall.millionths(l.birth_weight) % 1000000 / 1000000.0::double precision AS credit) b
        WHERE p.outcome = 'created'
    ), logged AS (
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
        SELECT p_tenant, p.id, 'write', l.birth_weight, p.born_at, p_now
        FROM placed p JOIN recall.layers_of(p_tenant) l ON l.name = p.layer
        WHERE p.outcome = 'created'
        UNION ALL
        SELECT p_tenant, p.id, 'write', recall.access_weight(p_tenant, 'write'), p_now, p_now
        FROM placed p WHERE p.rewritten
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'item', p.item, 'id', p.id, 'key', p.key, 'outcome', p.outcome, 'problem', p.problem,
        'rewritten', coalesce(p.rewritten, false), 'overtaken', p.overtaken)), '[]'),
        array_agg(p.id) FILTER (WHERE p.id IS NOT NULL AND p.embedding IS NOT NULL),
        array_agg(p.embedding) FILTER (WHERE p.id IS NOT NULL AND p.embedding IS NOT NULL)
    INTO v_result, v_embedded, v_embeddings FROM placed p;
    IF v_embedded IS NOT NULL THEN
        PERFORM recall.put_vectors(p_tenant, v_embedded, v_embeddings);
    END IF;
    -- In a statement of its own, which sees what a transaction stored that the first one had to wait for.
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'item', r.item, 'id', coalesce(r.id, m.id), 'key', r.key, 'outcome', r.outcome,
            'problem', r.problem, 'rewritten', r.rewritten, 'overtaken', r.overtaken)), '[]')
        FROM jsonb_to_recordset(v_result) AS r(
            item int, id bigint, key text, outcome text, problem text, rewritten boolean, overtaken boolean)
        LEFT JOIN recall.memory m ON r.outcome = 'unchanged' AND m.tenant = p_tenant AND m.key = r.key);
END $$;
