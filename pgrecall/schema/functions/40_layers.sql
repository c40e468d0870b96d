-- Layers as data: what applies to a tenant is its own row of a layer, else the database's.

-- layers_of: every layer this tenant can use, by name: the clock and decay its rates stand for, the bounds of
-- its zones, and the median base-level activation of its live memories when last computed (0 before).
CREATE OR REPLACE FUNCTION recall.layers_of(p_tenant text) RETURNS SETOF recall.layer_in_force
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT ON (l.name)
           l.name,
           CASE l.reading WHEN 'clock' THEN l.metabolic_rate ELSE 1 END,
           CASE l.reading WHEN 'clock' THEN l.base_decay ELSE l.base_decay * l.metabolic_rate END,
           l.birth_weight, l.active, l.stale, l.fading,
           coalesce(m.base, 0)
    FROM recall.layer l
    LEFT JOIN recall.layer_median m ON m.tenant = p_tenant AND m.layer = l.name
    WHERE l.tenant IN (p_tenant, '*')
    ORDER BY l.name, l.tenant = '*'
$$;

-- refresh_medians: recomputes for each layer the median of B over this tenant's live memories, which is what
-- search measures a memory's liveliness against, so that layers of different pace compare.
CREATE OR REPLACE FUNCTION recall.refresh_medians(p_now timestamptz DEFAULT now()) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_now double precision := recall.epoch(recall.finite(p_now));
    v_weights recall.weights := recall.weights_of(v_tenant);
BEGIN
    INSERT INTO recall.layer_median (tenant, layer, base, computed_at)
    SELECT v_tenant, m.layer,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(recall.activation_sum(a, v_weights, v_now))), p_now
    FROM recall.memory m
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    WHERE m.tenant = v_tenant AND m.archived_at IS NULL
    GROUP BY m.layer ORDER BY m.layer
    ON CONFLICT (tenant, layer) DO UPDATE SET base = excluded.base, computed_at = excluded.computed_at;
END $$;

-- refresh_statistics: what search compares with, recomputed: document frequencies and layer medians.
-- Returns how many live memories were counted.
CREATE OR REPLACE FUNCTION recall.refresh_statistics(p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall.refresh_medians(p_now);
    RETURN recall.refresh_lexemes();
END $$;

-- refresh_vitality: brings the cached vitality and zone of up to p_limit memories with ids above p_after up to
-- p_now; reports read them, ranking never does. Returns the last id looked at, NULL when there were none left.
CREATE OR REPLACE FUNCTION recall.refresh_vitality(
    p_after bigint DEFAULT 0, p_limit int DEFAULT 10000, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_now double precision := recall.epoch(recall.finite(p_now));
    v_weights recall.weights := recall.weights_of(v_tenant);
    v_last bigint;
BEGIN
    SELECT max(b.memory_id) INTO v_last FROM (
        SELECT a.memory_id FROM recall.activation a
        WHERE a.tenant = v_tenant AND a.memory_id > p_after
        ORDER BY a.memory_id LIMIT p_limit) b;
    -- The rows in one order, as every other change of them: no two calls can deadlock.
    WITH due AS MATERIALIZED (
        SELECT a AS row, a.memory_id
        FROM recall.activation a
        WHERE a.tenant = v_tenant AND a.memory_id > p_after AND a.memory_id <= v_last
        ORDER BY a.memory_id FOR NO KEY UPDATE
    ), summed AS MATERIALIZED (
        SELECT d.row, d.memory_id, recall.activation_sum(d.row, v_weights, v_now) AS activation FROM due d
    ), zoned AS (
        SELECT s.memory_id, s.activation / (1 + s.activation) AS vitality,
               recall.zone_of(recall.retention_of(
                   s.activation / (1 + s.activation), (s.row).protected OR m.pinned, v_weights), l) AS zone
        FROM summed s
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = s.memory_id
        JOIN recall.layers_of(v_tenant) l ON l.name = m.layer
    )
    UPDATE recall.activation a SET vitality = z.vitality, zone = z.zone, computed_at = p_now
    FROM zoned z WHERE a.tenant = v_tenant AND a.memory_id = z.memory_id;
    RETURN v_last;
END $$;
