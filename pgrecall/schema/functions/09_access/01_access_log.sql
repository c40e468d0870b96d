-- The access log: weights of accesses, parsing and checks.

-- access_kinds: the kinds of accesses.
CREATE OR REPLACE FUNCTION recall_private.access_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['write', 'read', 'reference', 'used', 'retrieval'];

-- access_weight: the weight of an access of this kind for this tenant. NULL for an unknown kind.
CREATE OR REPLACE FUNCTION recall_private.access_weight(p_tenant text, p_kind text) RETURNS double precision
LANGUAGE sql STABLE
RETURN CASE WHEN p_kind = ANY (recall_private.access_kinds())
    THEN recall_private.setting_number(p_tenant, 'access.weight_' || p_kind) END;

-- require_session_id: returns the session id. Raises an error if it is too long for an index.
CREATE OR REPLACE FUNCTION recall_private.require_session_id(p_session_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF octet_length(p_session_id) > 1000 THEN
        PERFORM recall_private.raise_invalid(format('The session id has %s bytes; the limit is 1,000.', octet_length(p_session_id)));
    END IF;
    RETURN p_session_id;
END $$;

-- check_access_forms: raises an error unless this is a JSON array of objects with valid numbers and times.
CREATE OR REPLACE FUNCTION recall_private.check_access_forms(p_items jsonb) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_bad jsonb;
BEGIN
    IF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall_private.raise_invalid('The accesses must be a JSON array of objects.');
    END IF;
    SELECT e.value INTO v_bad FROM jsonb_array_elements(p_items) e
    WHERE NOT pg_input_is_valid(coalesce(e.value ->> 'memory_id', '0'), 'bigint')
       OR NOT pg_input_is_valid(coalesce(e.value ->> 'at', 'now'), 'timestamptz') LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('The memory_id %s or the time %s of an access cannot be read.',
            left((v_bad -> 'memory_id')::text, 100), left((v_bad -> 'at')::text, 100)));
    END IF;
END $$;

-- parse_accesses: the accesses of a JSON array, in its order, with their weights. memory_id is NULL for a memory that
-- this tenant does not have. `born_at` is the time of the memory's first access, its creation.
CREATE OR REPLACE FUNCTION recall_private.parse_accesses(p_tenant text, p_items jsonb, p_now timestamptz)
RETURNS TABLE (
    item int, reference text, by_key boolean, memory_id bigint, kind text, weight double precision, at timestamptz,
    session_id text, idempotency_key text, born_at timestamptz
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH weight AS MATERIALIZED (
        SELECT k.kind, recall_private.access_weight(p_tenant, k.kind) AS weight
        FROM unnest(recall_private.access_kinds()) k(kind)
    )
    SELECT e.ordinality::int, coalesce(r.key, r.memory_id::text), r.key IS NOT NULL, m.id,
           coalesce(r.kind, 'read'), w.weight, coalesce(r.at, p_now), r.session_id, r.idempotency_key,
           least(m.happened_at, m.created_at)
    FROM jsonb_array_elements(p_items) WITH ORDINALITY e
    CROSS JOIN LATERAL jsonb_to_record(e.value) AS r(
        memory_id bigint, key text, kind text, at timestamptz, session_id text, idempotency_key text)
    LEFT JOIN weight w ON w.kind = coalesce(r.kind, 'read')
    LEFT JOIN LATERAL (
        SELECT k.id, k.happened_at, k.created_at FROM recall.memory k
        WHERE r.key IS NOT NULL AND k.tenant = p_tenant AND k.key = r.key
        UNION ALL
        SELECT i.id, i.happened_at, i.created_at FROM recall.memory i
        WHERE r.key IS NULL AND i.tenant = p_tenant AND i.id = r.memory_id) m ON true
    ORDER BY e.ordinality;
END $$;

-- check_accesses: raises an error for the first access that cannot be logged.
CREATE OR REPLACE FUNCTION recall_private.check_accesses(p_tenant text, p_items jsonb, p_now timestamptz) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- The largest tolerated difference between the clocks of a client and the server.
    v_skew CONSTANT interval := '5 minutes';
    v_bad record;
BEGIN
    SELECT i.* INTO v_bad FROM recall_private.parse_accesses(p_tenant, p_items, p_now) i
    WHERE i.memory_id IS NULL OR i.weight IS NULL OR NOT isfinite(i.at) OR i.at > p_now + v_skew
       -- A memory that a wrong clock dated in the future can still be used.
       OR i.at < least(i.born_at, p_now) - v_skew OR octet_length(i.idempotency_key) > 1000
       OR octet_length(i.session_id) > 1000
    ORDER BY i.item LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    ELSIF v_bad.memory_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found',
            MESSAGE = recall_private.shortened(format('There is no memory %L in this tenant.', v_bad.reference)),
            DETAIL = coalesce(left(v_bad.reference, 1000), ''), COLUMN = CASE WHEN v_bad.by_key THEN 'key' ELSE 'id' END;
    ELSIF v_bad.weight IS NULL THEN
        PERFORM recall_private.raise_invalid(format('The access kind %L is unknown.', v_bad.kind),
            'Use write, read, reference, used or retrieval.');
    ELSIF octet_length(v_bad.idempotency_key) > 1000 OR octet_length(v_bad.session_id) > 1000 THEN
        PERFORM recall_private.raise_invalid(format('The %s has %s bytes; the limit is 1,000.',
            CASE WHEN octet_length(v_bad.session_id) > 1000 THEN 'session id' ELSE 'idempotency key' END,
            greatest(octet_length(v_bad.session_id), octet_length(v_bad.idempotency_key))));
    ELSIF isfinite(v_bad.at) AND v_bad.at <= p_now + v_skew THEN
        PERFORM recall_private.raise_invalid(
            format('The access time %s lies before memory %s was created, %s.', v_bad.at, v_bad.reference,
                   v_bad.born_at),
            'Give occurred_at when you remember something older.');
    ELSE
        PERFORM recall_private.raise_invalid(format('The access time %s lies in the future or is infinite.', v_bad.at),
            'Record a use when it has happened.');
    END IF;
END $$;

-- burst_window: the time within which repeated accesses with the same memory, kind and session count as one.
CREATE OR REPLACE FUNCTION recall_private.burst_window(p_tenant text) RETURNS interval
LANGUAGE sql STABLE
RETURN make_interval(secs => 60 * recall_private.setting_number(p_tenant, 'access.burst_minutes'));

-- is_burst_repeat: whether such an access belongs to a burst that began earlier, in the log or at p_before.
CREATE OR REPLACE FUNCTION recall_private.is_burst_repeat(
    p_tenant text, p_memory_id bigint, p_kind text, p_session_id text, p_at timestamptz, p_before timestamptz
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT p_session_id IS NOT NULL AND (
        coalesce(p_before > p_at - recall_private.burst_window(p_tenant), false)
        OR EXISTS (
            SELECT FROM recall.access e
            WHERE e.tenant = p_tenant AND e.memory_id = p_memory_id
              AND e.at > p_at - recall_private.burst_window(p_tenant) AND e.at <= p_at
              AND e.kind = p_kind AND e.session_id = p_session_id))
$$;

-- logged_accesses: the rows of the log with these ids, which were recorded at p_recorded_at; by id.
CREATE OR REPLACE FUNCTION recall_private.logged_accesses(p_tenant text, p_ids bigint[], p_recorded_at timestamptz)
RETURNS SETOF recall.access
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT e.* FROM recall.access e
    WHERE e.tenant = p_tenant AND e.id = ANY (p_ids) AND e.recorded_at = p_recorded_at
    ORDER BY e.id;
END;
