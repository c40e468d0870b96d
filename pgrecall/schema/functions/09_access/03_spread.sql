-- Spreading activation on use. What an access passes on is computed when it is logged and stored with it, so that a boost
-- can be explained, rebuilt and computed for a past moment.

-- is_spreading_relation: whether activation passes over links of this relation.
CREATE OR REPLACE FUNCTION recall_private.is_spreading_relation(p_relation text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'derived_from');

-- spread_horizon: the age from which an access no longer spreads, because a thousandth of its boost would be left.
CREATE OR REPLACE FUNCTION recall_private.spread_horizon(p_tenant text) RETURNS interval
LANGUAGE sql STABLE
RETURN make_interval(secs => 864000 * recall_private.setting_number(p_tenant, 'vitality.spread_half_life_days'));

-- share_of_amount: p_share of p_amount, both at most 1. Returns 0 where the product would underflow, which is an error in
-- Postgres.
CREATE OR REPLACE FUNCTION recall_private.share_of_amount(p_amount double precision, p_share double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_amount > 1e-50 AND p_share > 1e-50 THEN p_amount * p_share ELSE 0 END;

-- neighbours: the live memories that were linked with this one in either direction by p_at, at most p_fan_out, those with
-- the heaviest links first. `share` is the part that each gets of what this memory passes on. At most 200 links in each
-- direction are read, to limit the cost of hubs.
CREATE OR REPLACE FUNCTION recall_private.neighbours(
    p_tenant text, p_memory_id bigint, p_at timestamptz, p_fan_out int, p_damping double precision,
    p_fan_exponent double precision
) RETURNS TABLE (id bigint, share double precision)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT n.other, recall_private.share_of_amount(p_damping, least(n.weight, 1)) / power(n.fan, p_fan_exponent)
    FROM (
        SELECT l.other, max(l.weight) AS weight, (count(*) OVER ())::double precision AS fan
        FROM (
            (SELECT k.dst AS other, k.weight FROM recall.link k
             WHERE k.tenant = p_tenant AND k.src = p_memory_id AND recall_private.is_spreading_relation(k.relation)
               AND k.created_at <= p_at LIMIT 200)
            UNION ALL
            (SELECT k.src, k.weight FROM recall.link k
             WHERE k.tenant = p_tenant AND k.dst = p_memory_id AND recall_private.is_spreading_relation(k.relation)
               AND k.created_at <= p_at LIMIT 200)
        ) l
        -- OFFSET 0 keeps one index probe for each neighbour, also before the planner has statistics.
        CROSS JOIN LATERAL (
            SELECT FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = l.other AND m.archived_at IS NULL OFFSET 0) m
        GROUP BY l.other
    ) n
    ORDER BY n.weight DESC, n.other LIMIT p_fan_out;
END;

-- spread_targets: the amount that one access of p_weight at p_at passes to each memory around this one, largest first.
-- Every link passes on its share. A memory is reached by the shortest path, and among these by the strongest.
CREATE OR REPLACE FUNCTION recall_private.spread_targets(
    p_tenant text, p_memory_id bigint, p_weight double precision, p_at timestamptz
) RETURNS TABLE (id bigint, amount double precision)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_fan_out int := recall_private.setting_number(p_tenant, 'spread.fan_out')::int;
    v_damping double precision := recall_private.setting_number(p_tenant, 'spread.damping');
    v_exponent double precision := recall_private.setting_number(p_tenant, 'spread.fan_exponent');
    v_hops int := recall_private.setting_number(p_tenant, 'spread.hops')::int;
    v_limit int := recall_private.setting_number(p_tenant, 'spread.limit')::int;
BEGIN
    RETURN QUERY
    WITH near AS MATERIALIZED (
        SELECT n.id, recall_private.share_of_amount(p_weight, n.share) AS amount
        FROM recall_private.neighbours(p_tenant, p_memory_id, p_at, v_fan_out, v_damping, v_exponent) n
        WHERE v_hops >= 1
    ), far AS (
        SELECT n.id, max(recall_private.share_of_amount(r.amount, n.share)) AS amount
        FROM near r
        CROSS JOIN LATERAL recall_private.neighbours(p_tenant, r.id, p_at, v_fan_out, v_damping, v_exponent) n
        WHERE v_hops >= 2 AND n.id <> p_memory_id AND n.id NOT IN (SELECT r.id FROM near r)
        GROUP BY n.id
    )
    SELECT t.id, t.amount FROM (SELECT * FROM near UNION ALL SELECT * FROM far) t
    WHERE t.amount > 0 ORDER BY t.amount DESC, t.id LIMIT v_limit;
END $$;

-- add_spread: a stored boost {value, epoch} after adding one at p_at: both are decayed to the later of the two times and
-- added, up to 1.
CREATE OR REPLACE FUNCTION recall_private.add_spread(
    p_state double precision[], p_amount double precision, p_at double precision, p_half_life_days double precision
) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_amount IS NULL OR p_at IS NULL THEN p_state
    WHEN p_state[2] IS NULL THEN ARRAY[least(p_amount, 1), p_at]
    WHEN p_at >= p_state[2] THEN ARRAY[least(1,
        p_state[1] * power(2::double precision, -least((p_at - p_state[2]) / 86400 / p_half_life_days, 300))
        + p_amount), p_at]
    ELSE ARRAY[least(1,
        p_state[1]
        + p_amount * power(2::double precision, -least((p_state[2] - p_at) / 86400 / p_half_life_days, 300))),
        p_state[2]]
END;

-- spread_sum: the boost {value, epoch} that results from adding these in the order given. The epoch is missing at first,
-- not NULL, which a server with array_nulls off would read as a word.
CREATE OR REPLACE AGGREGATE recall_private.spread_sum(double precision, double precision, double precision) (
    SFUNC = recall_private.add_spread, STYPE = double precision[], INITCOND = '{0}', PARALLEL = SAFE
);

-- apply_spread: adds what these accesses spread to the stored boosts of the memories they reach.
CREATE OR REPLACE FUNCTION recall_private.apply_spread(p_tenant text, p_logged bigint[], p_now timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE
-- One index probe for each memory. A plan for any number of accesses would read all activations for a few.
SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    v_half_life double precision := recall_private.setting_number(p_tenant, 'vitality.spread_half_life_days');
BEGIN
    UPDATE recall.activation a SET spread = s.boost[1], spread_at = s.boost[2]
    FROM (
        SELECT b.memory_id, recall_private.spread_sum(b.amount, b.at, v_half_life ORDER BY b.place) AS boost
        FROM (
            SELECT t.memory_id, t.amount, recall_private.epoch(e.at) AS at, e.id AS place
            FROM recall_private.logged_accesses(p_tenant, p_logged, p_now) e
            CROSS JOIN LATERAL unnest(e.spread_to, e.spread_by) t(memory_id, amount)
            UNION ALL
            SELECT c.memory_id, c.spread, c.spread_at, 0
            FROM (SELECT DISTINCT unnest(e.spread_to) AS id
                  FROM recall_private.logged_accesses(p_tenant, p_logged, p_now) e) r
            CROSS JOIN LATERAL (
                SELECT o.memory_id, o.spread, o.spread_at FROM recall.activation o
                WHERE o.tenant = p_tenant AND o.memory_id = r.id AND o.spread_at IS NOT NULL OFFSET 0) c
        ) b
        GROUP BY b.memory_id
    ) s
    WHERE a.tenant = p_tenant AND a.memory_id = s.memory_id;
END $$;

-- spread_as_of: the boost {value, epoch} that accesses until p_as_of had spread to each of these memories (NULL means
-- all). Memories without a boost are left out.
CREATE OR REPLACE FUNCTION recall_private.spread_as_of(p_tenant text, p_ids bigint[], p_as_of timestamptz)
RETURNS TABLE (memory_id bigint, boost double precision[])
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT t.id, recall_private.spread_sum(t.amount, recall_private.epoch(e.at), h.days ORDER BY e.id)
    FROM (SELECT recall_private.setting_number(p_tenant, 'vitality.spread_half_life_days') AS days OFFSET 0) h
    CROSS JOIN recall.access e
    CROSS JOIN LATERAL unnest(e.spread_to, e.spread_by) t(id, amount)
    WHERE e.tenant = p_tenant AND e.at <= p_as_of AND (p_ids IS NULL OR e.spread_to && p_ids)
      AND (p_ids IS NULL OR t.id = ANY (p_ids))
    GROUP BY t.id
$$;

-- rebuild_spread: recomputes the stored boosts of these memories from the log. Returns how many differed from the log.
-- The caller has locked their activations.
CREATE OR REPLACE FUNCTION recall_private.rebuild_spread(p_tenant text, p_ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_changed bigint;
BEGIN
    WITH recomputed AS (
        SELECT u.id, s.boost FROM unnest(p_ids) u(id)
        LEFT JOIN recall_private.spread_as_of(p_tenant, p_ids, 'infinity') s ON s.memory_id = u.id
    ), changed AS (
        UPDATE recall.activation a SET spread = coalesce(t.boost[1], 0), spread_at = t.boost[2]
        FROM recomputed t
        WHERE a.tenant = p_tenant AND a.memory_id = t.id
          -- Rounding is no difference; it occurs when two accesses were passed on at once.
          AND (abs(a.spread - coalesce(t.boost[1], 0)) > 1e-9 OR a.spread_at IS DISTINCT FROM t.boost[2])
        RETURNING 1
    )
    SELECT count(*) INTO v_changed FROM changed;
    RETURN v_changed;
END $$;
