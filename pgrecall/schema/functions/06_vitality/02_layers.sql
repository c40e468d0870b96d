-- Layers in force, and values that jobs recompute: medians and cached vitality.

-- effective_layers: every layer this tenant can use, by name: the clock and decay that result from its rates, the bounds
-- of its zones, and the median B of its live memories when it was last computed. Before the first time, the median is the
-- B of a memory that was stored 100 days ago and never used, so that layers with different rates are comparable.
CREATE OR REPLACE FUNCTION recall.effective_layers(p_tenant text) RETURNS SETOF recall.layer_in_force
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT DISTINCT ON (l.name)
           l.name,
           c.clock, c.decay, l.birth_weight, l.active, l.stale, l.fading,
           coalesce(m.base, ln(l.birth_weight) - c.decay * ln(100 * c.clock))
    FROM recall.layer l
    CROSS JOIN LATERAL (
        SELECT CASE l.reading WHEN 'clock' THEN l.metabolic_rate ELSE 1 END AS clock,
               CASE l.reading WHEN 'clock' THEN l.base_decay ELSE l.base_decay * l.metabolic_rate END AS decay) c
    LEFT JOIN recall.layer_median m ON m.tenant = p_tenant AND m.layer = l.name
    WHERE l.tenant IN (p_tenant, '*')
    ORDER BY l.name, l.tenant = '*';
END;

-- refresh_medians: recomputes the median B of this tenant's live memories for each layer. As in ranking, every access
-- counts as at least an hour old. Search divides the S of a memory by the median S, so that layers with different rates
-- are comparable.
CREATE OR REPLACE FUNCTION recall.refresh_medians(p_now timestamptz DEFAULT now()) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_now double precision := recall.epoch(recall.require_moment(p_now));
    v_weights recall.weights := recall.vitality_weights(v_tenant);
BEGIN
    INSERT INTO recall.layer_median (tenant, layer, base, computed_at)
    SELECT v_tenant, m.layer,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(recall.activation_sum(a, v_weights, v_now, 3600))), p_now
    FROM recall.memory m
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    WHERE m.tenant = v_tenant AND m.archived_at IS NULL
    GROUP BY m.layer ORDER BY m.layer
    ON CONFLICT (tenant, layer) DO UPDATE SET base = excluded.base, computed_at = excluded.computed_at;
END $$;

-- refresh_statistics: recomputes the statistics that search uses: document frequencies and medians of layers. Returns how
-- many live memories were counted.
CREATE OR REPLACE FUNCTION recall.refresh_statistics(p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall.refresh_medians(p_now);
    RETURN recall.refresh_lexemes();
END $$;

-- vitality_at: vitality of one activation row at p_now: S / (1 + S), written so that S is computed once.
CREATE OR REPLACE FUNCTION recall.vitality_at(
    a recall.activation, w recall.weights, p_now double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 / (1 + 1 / recall.activation_sum(a, w, p_now));

-- refresh_vitality: recomputes the cached vitality at p_now of up to p_limit memories with ids above p_after. Reports
-- read this cache, ranking never does. Stores the resulting zones, and logs which live memories have risen or faded to
-- another zone since the last refresh. Returns the last processed id, NULL when none was left.
CREATE OR REPLACE FUNCTION recall.refresh_vitality(
    p_after bigint DEFAULT 0, p_limit int DEFAULT 10000, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
-- Rows change in the order of their ids, as everywhere, so that two calls cannot deadlock.
SET enable_seqscan = off
SET enable_bitmapscan = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_weights recall.weights := recall.vitality_weights(v_tenant);
    v_now double precision := recall.epoch(recall.require_moment(p_now));
    v_layers recall.layer_in_force[] := ARRAY(SELECT l FROM recall.effective_layers(v_tenant) l);
    v_order CONSTANT text[] := '{active, stale, fading, dormant}';
    v_era int := recall.change_era();
    v_last bigint;
BEGIN
    PERFORM recall.lock_tenant(v_tenant, 'zones');  -- otherwise two calls could log the same change twice
    -- Read from the index of memories: activations change too often for an index-only scan.
    SELECT max(b.id) INTO v_last FROM (
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after ORDER BY m.id LIMIT recall.require_limit(p_limit)) b;
    -- One update, because a second update of a row in a transaction checks its foreign key, which would lock the memory
    -- too late.
    WITH before AS MATERIALIZED (
        SELECT a.memory_id, a.zone FROM recall.activation a
        WHERE a.tenant = v_tenant AND a.memory_id > p_after AND a.memory_id <= v_last AND a.zone IS NOT NULL
    ), refreshed AS (
        UPDATE recall.activation a SET (vitality, computed_at, zone) = (
            SELECT v.vitality, p_now,
                   recall.zone_of(recall.retention_of(v.vitality, a.protected OR m.pinned, v_weights), l)
            FROM (SELECT recall.vitality_at(a, v_weights, v_now) AS vitality OFFSET 0) v
            LEFT JOIN recall.memory m ON m.tenant = v_tenant AND m.id = a.memory_id
            LEFT JOIN unnest(v_layers) l ON l.name = m.layer)
        WHERE a.tenant = v_tenant AND a.memory_id > p_after AND a.memory_id <= v_last
        RETURNING a.memory_id, a.zone
    )
    INSERT INTO recall.memory_change (tenant, era, memory_id, kind, at, zone)
    SELECT v_tenant, v_era, r.memory_id,
           CASE WHEN array_position(v_order, r.zone) < array_position(v_order, b.zone) THEN 'risen' ELSE 'faded' END,
           p_now, r.zone
    FROM refreshed r
    JOIN before b ON b.memory_id = r.memory_id AND b.zone <> r.zone
    JOIN recall.memory m ON m.tenant = v_tenant AND m.id = r.memory_id AND m.archived_at IS NULL
    ORDER BY r.memory_id;
    RETURN v_last;
END $$;
