-- Use: the access log and the summary it feeds.

-- access_weight: how much an access of this kind counts; NULL for an unknown kind.
CREATE OR REPLACE FUNCTION recall.access_weight(p_kind text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_kind IN ('write', 'read', 'reference', 'used') THEN 1 WHEN p_kind = 'retrieval' THEN 0.1 END;

-- parse_accesses: the accesses of a JSON array, in its order, with their weights; memory_id is NULL for a
-- memory this tenant does not have.
CREATE OR REPLACE FUNCTION recall.parse_accesses(p_tenant text, p_items jsonb, p_now timestamptz)
RETURNS TABLE (
    item int, reference text, by_key boolean, memory_id bigint, kind text, weight double precision, at timestamptz,
    session_id text, idempotency_key text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT e.ordinality::int, coalesce(r.key, r.memory_id::text), r.key IS NOT NULL, coalesce(by_key.id, by_id.id),
           coalesce(r.kind, 'read'), recall.access_weight(coalesce(r.kind, 'read')), coalesce(r.at, p_now),
           r.session_id, r.idempotency_key
    FROM jsonb_array_elements(p_items) WITH ORDINALITY e
    CROSS JOIN LATERAL jsonb_to_record(e.value) AS r(
        memory_id bigint, key text, kind text, at timestamptz, session_id text, idempotency_key text)
    LEFT JOIN recall.memory by_key ON r.key IS NOT NULL AND by_key.tenant = p_tenant AND by_key.key = r.key
    LEFT JOIN recall.memory by_id
        ON r.key IS NULL AND by_id.tenant = p_tenant AND by_id.id = r.memory_id
    ORDER BY e.ordinality
$$;

-- record_accesses: logs uses of memories and updates their activation, each once. p_items is a JSON array
-- of {memory_id | key, kind, at, session_id, idempotency_key}; returns how many were new. An
-- idempotency_key seen before is ignored; the order of arrival does not matter.
CREATE OR REPLACE FUNCTION recall.record_accesses(p_items jsonb, p_now timestamptz DEFAULT now())
RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_recorded jsonb;
    v_ids bigint[];
BEGIN
    IF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall.reject('The accesses must be a JSON array of objects.');
    END IF;
    v_ids := ARRAY(SELECT i.memory_id FROM recall.parse_accesses(v_tenant, p_items, p_now) i);
    -- The memories before activations, and both in one order, as everywhere: no two calls can deadlock.
    PERFORM FROM recall.memory m
    WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) ORDER BY m.id FOR KEY SHARE;
    PERFORM FROM recall.activation a
    WHERE a.tenant = v_tenant AND a.memory_id = ANY (v_ids) ORDER BY a.memory_id FOR UPDATE;
    -- Only now: while this call waited for a lock, a memory may have been forgotten.
    PERFORM recall.check_accesses(v_tenant, p_items, p_now);
    WITH recorded AS (
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, idempotency_key, recorded_at)
        SELECT v_tenant, i.memory_id, i.kind, i.weight, i.at, i.session_id, i.idempotency_key, p_now
        FROM recall.parse_accesses(v_tenant, p_items, p_now) i
        ORDER BY i.idempotency_key, i.item
        ON CONFLICT (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
        RETURNING memory_id, weight, at
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'memory_id', r.memory_id, 'weight', r.weight, 'at', recall.epoch(r.at))), '[]')
    INTO v_recorded FROM recorded r;
    PERFORM recall.summarise(v_tenant, v_recorded);
    RETURN jsonb_array_length(v_recorded);
END $$;

-- record_access: logs one use of a memory; false when its idempotency key was seen before.
CREATE OR REPLACE FUNCTION recall.record_access(
    p_memory_id bigint, p_kind text DEFAULT 'read', p_at timestamptz DEFAULT NULL,
    p_session_id text DEFAULT NULL, p_idempotency_key text DEFAULT NULL, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT recall.record_accesses(jsonb_build_array(jsonb_build_object(
        'memory_id', p_memory_id, 'kind', p_kind, 'at', p_at, 'session_id', p_session_id,
        'idempotency_key', p_idempotency_key)), p_now) = 1
$$;

-- check_accesses: raises for the first access that cannot be logged.
CREATE OR REPLACE FUNCTION recall.check_accesses(p_tenant text, p_items jsonb, p_now timestamptz) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_bad record;
BEGIN
    SELECT i.* INTO v_bad FROM recall.parse_accesses(p_tenant, p_items, p_now) i
    WHERE i.memory_id IS NULL OR i.weight IS NULL OR NOT isfinite(i.at)
       OR i.at > p_now + interval '5 minutes' OR octet_length(i.idempotency_key) > 1000
    ORDER BY i.item LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    ELSIF v_bad.memory_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found',
            MESSAGE = format('There is no memory %L in this tenant.', v_bad.reference),
            DETAIL = coalesce(v_bad.reference, ''), COLUMN = CASE WHEN v_bad.by_key THEN 'key' ELSE 'id' END;
    ELSIF v_bad.weight IS NULL THEN
        PERFORM recall.reject(format('The access kind %L is unknown.', v_bad.kind),
            'Use write, read, reference, used or retrieval.');
    ELSIF octet_length(v_bad.idempotency_key) > 1000 THEN
        PERFORM recall.reject(format('The idempotency key has %s bytes, more than 1,000.',
            octet_length(v_bad.idempotency_key)));
    ELSE
        PERFORM recall.reject(format('The access time %s lies in the future or is infinite.', v_bad.at),
            'Record a use when it has happened.');
    END IF;
END $$;

-- newest_eight: the eight largest of these times, newest first.
CREATE OR REPLACE FUNCTION recall.newest_eight(p_times double precision[]) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(SELECT t FROM unnest(p_times) t WHERE t IS NOT NULL ORDER BY t DESC LIMIT 8);

-- summarise: adds recorded accesses ([{memory_id, weight, at}]) to the activation summaries. Weights below
-- one gather as credit; each whole unit of credit becomes one access at the newest of their times.
CREATE OR REPLACE FUNCTION recall.summarise(p_tenant text, p_recorded jsonb) RETURNS void
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    WITH event AS (
        SELECT r.memory_id, r.weight, r.at
        FROM jsonb_to_recordset(p_recorded) AS r(memory_id bigint, weight double precision, at double precision)
    ), gathered AS (
        SELECT e.memory_id,
               coalesce(array_agg(e.at) FILTER (WHERE e.weight >= 1), '{}') AS whole,
               coalesce(sum(e.weight) FILTER (WHERE e.weight < 1), 0) AS partial,
               max(e.at) FILTER (WHERE e.weight < 1) AS partial_at
        FROM event e GROUP BY e.memory_id
    ), credited AS (
        -- Ten times 0.1 is a hair below 1 in floating point; the rounding makes it one access.
        SELECT g.memory_id, g.whole, g.partial_at,
               floor(round((a.credit + g.partial)::numeric, 9))::int AS units,
               round((a.credit + g.partial)::numeric, 9)::double precision AS credit
        FROM gathered g JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = g.memory_id
    ), timed AS (
        SELECT c.memory_id, c.credit - c.units AS credit,
               c.whole || array_fill(c.partial_at, ARRAY[CASE WHEN c.partial_at IS NULL THEN 0 ELSE c.units END])
                   AS times
        FROM credited c
    )
    UPDATE recall.activation a
    SET n = a.n + cardinality(x.times), credit = x.credit,
        first_at = least(a.first_at, (SELECT min(t) FROM unnest(x.times) t)),
        t1 = x.newest[1], t2 = x.newest[2], t3 = x.newest[3], t4 = x.newest[4],
        t5 = x.newest[5], t6 = x.newest[6], t7 = x.newest[7], t8 = x.newest[8]
    FROM (
        SELECT t.*, recall.newest_eight(
            ARRAY[b.t1, b.t2, b.t3, b.t4, b.t5, b.t6, b.t7, b.t8] || t.times) AS newest
        FROM timed t JOIN recall.activation b ON b.tenant = p_tenant AND b.memory_id = t.memory_id
    ) x
    WHERE a.tenant = p_tenant AND a.memory_id = x.memory_id
$$;
