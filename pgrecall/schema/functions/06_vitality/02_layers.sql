-- Layers in force, and values that jobs recompute: medians and cached vitality.

-- effective_layers: every layer this tenant can use, by name: the clock and decay that result from its rates, the bounds
-- of its zones, and the median B of its live memories when it was last computed. Before the first time, the median is the
-- B of a memory that was stored 100 days ago and never used, so that layers with different rates are comparable.
CREATE OR REPLACE FUNCTION recall_private.effective_layers(p_tenant text) RETURNS SETOF recall.layer_in_force
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

-- refresh_medians (app; Jobs and maintenance): recomputes the median B of this tenant's live memories for each layer.
-- As in ranking, every access counts as at least an hour old. Search divides the S of a memory by the median S, so that
-- layers with different rates are comparable.
CREATE OR REPLACE FUNCTION recall.refresh_medians(p_now timestamptz DEFAULT now()) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_now double precision := recall_private.epoch(recall_private.require_moment(p_now));
    v_weights recall.weights := recall_private.vitality_weights(v_tenant);
BEGIN
    INSERT INTO recall.layer_median (tenant, layer, base, computed_at)
    SELECT v_tenant, m.layer,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(recall_private.activation_sum(a, v_weights, v_now, 3600))), p_now
    FROM recall.memory m
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    WHERE m.tenant = v_tenant AND m.archived_at IS NULL
    GROUP BY m.layer ORDER BY m.layer
    ON CONFLICT (tenant, layer) DO UPDATE SET base = excluded.base, computed_at = excluded.computed_at;
END $$;

-- refresh_statistics (app; Jobs and maintenance): recomputes the statistics that search uses: document frequencies and
-- medians of layers. Returns how many live memories were counted.
CREATE OR REPLACE FUNCTION recall.refresh_statistics(p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall.refresh_medians(p_now);
    RETURN recall.refresh_lexemes();
END $$;

-- vitality_at: vitality of one activation row at p_now: S / (1 + S), written so that S is computed once.
CREATE OR REPLACE FUNCTION recall_private.vitality_at(
    a recall.activation, w recall.weights, p_now double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 / (1 + 1 / recall_private.activation_sum(a, w, p_now));

-- changed_vitalities: the memories with ids above p_after and up to p_last whose vitality or zone at p_now, in epoch
-- seconds, differs from the stored one by p_tolerance or more; by id.
CREATE OR REPLACE FUNCTION recall_private.changed_vitalities(
    p_tenant text, p_after bigint, p_last bigint, p_weights recall.weights, p_now double precision,
    p_tolerance double precision
) RETURNS TABLE (
    memory_id bigint, archived_at timestamptz, vitality double precision, zone_before text, zone text
)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan
-- Both tables are read in the order of their ids and merged. A tenant that the statistics do not know yet would be read
-- again for each of its rows.
SET enable_nestloop = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off AS $$
DECLARE
    v_layers recall.layer_in_force[] := ARRAY(SELECT l FROM recall_private.effective_layers(p_tenant) l ORDER BY l.name);
    v_names text[] := ARRAY(SELECT l.name FROM recall_private.effective_layers(p_tenant) l ORDER BY l.name);
BEGIN
    -- OFFSET 0: vitality and zone are computed once a row, not wherever they are read.
    RETURN QUERY
    SELECT z.memory_id, z.archived_at, z.vitality, z.zone_before, z.zone
    FROM (
        SELECT t.*, recall_private.zone_of(
                   recall_private.retention_of(t.vitality, t.floored, p_weights),
                   v_layers[array_position(v_names, t.layer)]) AS zone
        FROM (
            SELECT a.memory_id, m.layer, m.archived_at, a.protected OR m.pinned AS floored, a.zone AS zone_before,
                   a.vitality AS cached, recall_private.vitality_at(a, p_weights, p_now) AS vitality
            FROM recall.activation a
            JOIN recall.memory m ON m.tenant = p_tenant AND m.id = a.memory_id
            WHERE a.tenant = p_tenant AND a.memory_id > p_after AND a.memory_id <= p_last
              AND m.id > p_after AND m.id <= p_last
            OFFSET 0) t
        OFFSET 0) z
    WHERE z.cached IS NULL OR abs(z.vitality - z.cached) >= p_tolerance OR z.zone IS DISTINCT FROM z.zone_before
    ORDER BY z.memory_id;
END $$;

-- refresh_vitality (app; Jobs and maintenance): recomputes the cached vitality at p_now of up to p_limit memories with
-- ids above p_after. Reports read this cache, ranking never does. Writes a memory only if its zone changes or its
-- vitality by at least .005, as most change by less from one refresh to the next. Logs which live memories have risen
-- or faded to another zone since the last refresh. Returns the last processed id, NULL when none was left.
CREATE OR REPLACE FUNCTION recall.refresh_vitality(
    p_after bigint DEFAULT 0, p_limit int DEFAULT 10000, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
-- Rows change in the order of their ids, as everywhere, so that two calls cannot deadlock.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_weights recall.weights := recall_private.vitality_weights(v_tenant);
    v_now double precision := recall_private.epoch(recall_private.require_moment(p_now));
    v_order CONSTANT text[] := '{active, stale, fading, dormant}';
    v_tolerance CONSTANT double precision := 0.005;
    v_era int := recall_private.change_era(v_tenant);
    v_last bigint;
BEGIN
    PERFORM recall_private.lock_tenant(v_tenant, 'zones');  -- otherwise two calls could log the same change twice
    -- Read from the index of memories: activations change too often for an index-only scan.
    SELECT max(b.id) INTO v_last FROM (
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after ORDER BY m.id LIMIT recall_private.require_limit(p_limit)) b;
    WITH changed AS MATERIALIZED (
        SELECT c.* FROM recall_private.changed_vitalities(v_tenant, p_after, v_last, v_weights, v_now, v_tolerance) c
        ORDER BY c.memory_id
    ), refreshed AS (
        UPDATE recall.activation a SET vitality = c.vitality, computed_at = p_now, zone = c.zone
        FROM changed c WHERE a.tenant = v_tenant AND a.memory_id = c.memory_id
    )
    INSERT INTO recall.memory_change (tenant, era, memory_id, kind, at, zone)
    SELECT v_tenant, v_era, c.memory_id,
           CASE WHEN array_position(v_order, c.zone) < array_position(v_order, c.zone_before)
                THEN 'risen' ELSE 'faded' END,
           p_now, c.zone
    FROM changed c
    WHERE c.zone <> c.zone_before AND c.archived_at IS NULL
    ORDER BY c.memory_id;
    RETURN v_last;
END $$;
