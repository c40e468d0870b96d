-- Association: memories used in the same session are linked by a link of relation co_access, from the smaller id to the
-- larger. Its weight is the number of such sessions at the time strengthened_at, halved over time. activation.sessions is
-- the number of sessions of one memory at the time sessions_at.

-- decayed_count: a count after p_seconds seconds, halved every p_half_life_days. It is bounded, because underflow is an
-- error in Postgres.
CREATE OR REPLACE FUNCTION recall_private.decayed_count(
    p_count double precision, p_seconds double precision, p_half_life_days double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_count > 1e-100
    THEN p_count * power(2::double precision, -least(greatest(p_seconds, 0) / 86400 / p_half_life_days, 500))
    ELSE 0 END;

-- incremented_count: a decaying count {value, epoch} after adding one at p_at, at the later of both times.
CREATE OR REPLACE FUNCTION recall_private.incremented_count(
    p_count double precision, p_counted_at double precision, p_at double precision, p_half_life_days double precision
) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_counted_at IS NULL THEN ARRAY[1, p_at]
    ELSE ARRAY[
        recall_private.decayed_count(p_count, p_at - p_counted_at, p_half_life_days)
        + recall_private.decayed_count(1, p_counted_at - p_at, p_half_life_days),
        greatest(p_at, p_counted_at)]
END;

-- accessed_in_session: up to 8 other memories used in a session within the association window of p_at, nearest in time
-- first. Among memories used at the same moment, those with the next larger ids come first, and then the smallest: if
-- every memory took the smallest ids, the others would never be associated.
CREATE OR REPLACE FUNCTION recall_private.accessed_in_session(
    p_tenant text, p_session_id text, p_at timestamptz, p_memory_id bigint, p_window interval
) RETURNS SETOF bigint
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT u.memory_id FROM (
        SELECT DISTINCT ON (e.memory_id) e.memory_id, abs(recall_private.epoch(e.at) - recall_private.epoch(p_at)) AS apart
        FROM recall.access e
        WHERE e.tenant = p_tenant AND e.session_id = p_session_id
          AND e.at BETWEEN p_at - p_window AND p_at + p_window
          AND recall_private.is_active_access(e.kind) AND e.weight > 0 AND e.memory_id <> p_memory_id
        ORDER BY e.memory_id, abs(recall_private.epoch(e.at) - recall_private.epoch(p_at))
    ) u
    ORDER BY u.apart, u.memory_id < p_memory_id, u.memory_id LIMIT 8;
END;

-- association_window: the time within which two uses in one session associate their memories.
CREATE OR REPLACE FUNCTION recall_private.association_window(p_tenant text) RETURNS interval
LANGUAGE sql STABLE
RETURN make_interval(secs => 60 * recall_private.setting_number(p_tenant, 'association.window_minutes'));

-- session_partners: the memories with which these accesses may be associated once they are logged.
CREATE OR REPLACE FUNCTION recall_private.session_partners(p_tenant text, p_items jsonb, p_now timestamptz)
RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_window interval := recall_private.association_window(p_tenant);
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT p.id FROM recall_private.parse_accesses(p_tenant, p_items, p_now) i
        CROSS JOIN LATERAL recall_private.accessed_in_session(p_tenant, i.session_id, i.at, i.memory_id, v_window) p(id)
        WHERE i.session_id IS NOT NULL AND recall_private.is_active_access(i.kind) AND isfinite(i.at));
END $$;

-- first_session_accesses: the logged accesses that are the first use of their memory in their session.
CREATE OR REPLACE FUNCTION recall_private.first_session_accesses(p_tenant text, p_logged bigint[], p_now timestamptz)
RETURNS TABLE (memory_id bigint, session_id text, at timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT DISTINCT ON (e.memory_id, e.session_id) e.memory_id, e.session_id, e.at
    FROM recall_private.logged_accesses(p_tenant, p_logged, p_now) e
    WHERE e.session_id IS NOT NULL AND recall_private.is_active_access(e.kind) AND e.weight > 0
      AND NOT EXISTS (
          SELECT FROM recall.access f
          -- `+ 0` makes Postgres use the index of sessions: a session is short, the history of a memory may be long.
          WHERE f.tenant = p_tenant AND f.memory_id + 0 = e.memory_id AND f.session_id = e.session_id
            AND recall_private.is_active_access(f.kind) AND f.weight > 0 AND f.id <> ALL (p_logged))
    ORDER BY e.memory_id, e.session_id, e.at, e.id;
END;

-- strengthen_associations: strengthens the co_access links between memories that these accesses bring together in a
-- session, once for each session and pair. Keeps only the strongest links of each memory. The caller has locked
-- p_memories; memories that were used in a session since are left out.
CREATE OR REPLACE FUNCTION recall_private.strengthen_associations(
    p_tenant text, p_logged bigint[], p_memories bigint[], p_now timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_window interval := recall_private.association_window(p_tenant);
    v_half_life double precision := recall_private.setting_number(p_tenant, 'association.half_life_days');
    v_src bigint[];
    v_dst bigint[];
BEGIN
    WITH pair AS (
        SELECT least(f.memory_id, p.id) AS src, greatest(f.memory_id, p.id) AS dst, f.session_id, max(f.at) AS at
        FROM recall_private.first_session_accesses(p_tenant, p_logged, p_now) f
        CROSS JOIN LATERAL recall_private.accessed_in_session(p_tenant, f.session_id, f.at, f.memory_id, v_window) p(id)
        WHERE p.id = ANY (p_memories)
          -- A memory may have been deleted since it was used.
          AND EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = p.id)
        GROUP BY 1, 2, 3
    ), timed AS (
        SELECT p.*, max(p.at) OVER (PARTITION BY p.src, p.dst) AS latest FROM pair p
    ), counted AS (
        SELECT t.src, t.dst, min(t.at) AS since, t.latest AS at,
               sum(recall_private.decayed_count(1, recall_private.epoch(t.latest) - recall_private.epoch(t.at), v_half_life)) AS sessions
        FROM timed t GROUP BY t.src, t.dst, t.latest
    ), strengthened AS (
        INSERT INTO recall.link AS l (tenant, src, dst, relation, weight, created_at, strengthened_at)
        SELECT p_tenant, c.src, c.dst, 'co_access', least(c.sessions, 100), c.since, c.at
        FROM counted c ORDER BY c.src, c.dst
        ON CONFLICT (tenant, src, dst, relation) DO UPDATE SET
            weight = least(100, recall_private.decayed_count(l.weight, recall_private.epoch(excluded.strengthened_at)
                         - recall_private.epoch(coalesce(l.strengthened_at, l.created_at)), v_half_life)
                     + recall_private.decayed_count(excluded.weight, recall_private.epoch(coalesce(l.strengthened_at, l.created_at))
                         - recall_private.epoch(excluded.strengthened_at), v_half_life)),
            strengthened_at = greatest(coalesce(l.strengthened_at, l.created_at), excluded.strengthened_at),
            merged_from = NULL
        RETURNING l.src, l.dst
    )
    SELECT array_agg(s.src), array_agg(s.dst) INTO v_src, v_dst FROM strengthened s;
    PERFORM recall_private.trim_associations(p_tenant, v_src, v_dst, v_half_life);
END $$;

-- associations_of: the co_access links of a memory. Each direction is read on its own: with OR, a plan for a tenant that
-- the statistics do not know would read all links of the tenant.
CREATE OR REPLACE FUNCTION recall_private.associations_of(p_tenant text, p_memory_id bigint)
RETURNS TABLE (src bigint, dst bigint, weight double precision, counted_at timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT k.src, k.dst, k.weight, coalesce(k.strengthened_at, k.created_at) FROM recall.link k
    WHERE k.tenant = p_tenant AND k.src = p_memory_id AND k.relation = 'co_access'
    UNION ALL
    SELECT k.src, k.dst, k.weight, coalesce(k.strengthened_at, k.created_at) FROM recall.link k
    WHERE k.tenant = p_tenant AND k.dst = p_memory_id AND k.relation = 'co_access';
END;

-- trim_associations: removes the weakest co_access links of the memories at both ends of these links, which were just
-- strengthened, until association.fan_out are left. These links are removed last, because otherwise no new link could
-- grow strong. A link that another transaction is strengthening stays.
CREATE OR REPLACE FUNCTION recall_private.trim_associations(
    p_tenant text, p_src bigint[], p_dst bigint[], p_half_life_days double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_fan_out int := recall_private.setting_number(p_tenant, 'association.fan_out')::int;
    v_free record;
BEGIN
    -- One index probe for each link. A join with the links could read all of a tenant that the statistics do not know.
    FOR v_free IN
        WITH weakest AS MATERIALIZED (
            SELECT DISTINCT k.src, k.dst FROM (SELECT DISTINCT e FROM unnest(p_src || p_dst) e) u(id)
            CROSS JOIN LATERAL (
                SELECT l.src, l.dst FROM recall_private.associations_of(p_tenant, u.id) l
                -- Weights at a common moment have the order of ln(weight) + ln(2) time / half-life.
                ORDER BY (l.src, l.dst) IN (SELECT s, d FROM unnest(p_src, p_dst) n(s, d)) DESC,
                         ln(l.weight) + ln(2::double precision)
                         * recall_private.epoch(l.counted_at) / 86400 / p_half_life_days DESC,
                         l.src, l.dst
                OFFSET v_fan_out) k
            ORDER BY k.src, k.dst
        )
        SELECT l.src, l.dst FROM weakest w
        CROSS JOIN LATERAL (
            SELECT k.src, k.dst FROM recall.link k
            WHERE k.tenant = p_tenant AND k.src = w.src AND k.dst = w.dst AND k.relation = 'co_access'
            OFFSET 0 FOR UPDATE SKIP LOCKED) l
    LOOP
        DELETE FROM recall.link l
        WHERE l.tenant = p_tenant AND l.src = v_free.src AND l.dst = v_free.dst AND l.relation = 'co_access';
    END LOOP;
END $$;

-- count_sessions: counts the sessions in which these accesses are the first use of a memory. The caller has locked the
-- activations.
CREATE OR REPLACE FUNCTION recall_private.count_sessions(p_tenant text, p_logged bigint[], p_now timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_half_life double precision := recall_private.setting_number(p_tenant, 'association.half_life_days');
    v_use record;
BEGIN
    FOR v_use IN
        SELECT f.memory_id, recall_private.epoch(f.at) AS at FROM recall_private.first_session_accesses(p_tenant, p_logged, p_now) f
        ORDER BY f.memory_id, f.at
    LOOP
        UPDATE recall.activation a
        SET sessions = c.state[1], sessions_at = c.state[2]
        FROM (
            SELECT recall_private.incremented_count(b.sessions, b.sessions_at, v_use.at, v_half_life) AS state
            FROM recall.activation b WHERE b.tenant = p_tenant AND b.memory_id = v_use.memory_id) c
        WHERE a.tenant = p_tenant AND a.memory_id = v_use.memory_id;
    END LOOP;
END $$;

-- shared_sessions: the memories that were used in a session with this one: `shared` is the decayed number of such
-- sessions at p_now, `own` and `theirs` those of all sessions of this one and of the other.
CREATE OR REPLACE FUNCTION recall_private.shared_sessions(p_tenant text, p_memory_id bigint, p_now timestamptz)
RETURNS TABLE (other bigint, shared double precision, own double precision, theirs double precision)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT o.memory_id,
           recall_private.decayed_count(l.weight, c.moment - recall_private.epoch(l.counted_at), c.half_life),
           recall_private.decayed_count(a.sessions, c.moment - a.sessions_at, c.half_life),
           recall_private.decayed_count(o.sessions, c.moment - o.sessions_at, c.half_life)
    FROM (
        SELECT recall_private.epoch(recall_private.require_moment(p_now)) AS moment,
               recall_private.setting_number(p_tenant, 'association.half_life_days') AS half_life OFFSET 0) c
    JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = p_memory_id
    CROSS JOIN recall_private.associations_of(p_tenant, p_memory_id) l
    JOIN recall.activation o ON o.tenant = p_tenant
        AND o.memory_id = CASE WHEN l.src = p_memory_id THEN l.dst ELSE l.src END
$$;

-- associates (reader; Links): the memories accessed together with this one most, at p_now, strongest first, at most
-- p_limit: `sessions` is the decayed number c of shared sessions, `association` c / (n + 1), n the decayed number of
-- this one's sessions: about the share of them in which the other was accessed too, lower if there are few sessions.
-- NULL if one of the two was never accessed in a session. Dividing by the other's sessions as well (the cosine) would
-- suppress memories that every task uses.
CREATE OR REPLACE FUNCTION recall.associates(
    p_memory_id bigint, p_limit int DEFAULT 32, p_now timestamptz DEFAULT now()
) RETURNS TABLE (memory_id bigint, sessions double precision, association double precision)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT x.other, x.shared,
           CASE WHEN x.own > 0 AND x.theirs > 0 THEN least(1, x.shared / (x.own + 1)) END
    FROM recall_private.shared_sessions(recall.current_tenant(), p_memory_id, p_now) x
    ORDER BY 3 DESC NULLS LAST, 1 LIMIT recall_private.require_limit(p_limit)
$$;
