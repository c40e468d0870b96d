-- Layers as data: what applies to a tenant is its own row of a layer, else the database's.

-- layers_of: every layer this tenant can use, by name: the clock and decay its rates stand for, the bounds of
-- its zones, and the median base-level activation of its live memories when last computed (0 before).
CREATE OR REPLACE FUNCTION recall.layers_of(p_tenant text) RETURNS SETOF recall.layer_in_force
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT DISTINCT ON (l.name)
           l.name,
           CASE l.reading WHEN 'clock' THEN l.metabolic_rate ELSE 1 END,
           CASE l.reading WHEN 'clock' THEN l.base_decay ELSE l.base_decay * l.metabolic_rate END,
           l.birth_weight, l.active, l.stale, l.fading,
           coalesce(m.base, 0)
    FROM recall.layer l
    LEFT JOIN recall.layer_median m ON m.tenant = p_tenant AND m.layer = l.name
    WHERE l.tenant IN (p_tenant, '*')
    ORDER BY l.name, l.tenant = '*';
END;

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
    v_last bigint;
    v_alike record;
BEGIN
    PERFORM recall.finite(p_now);
    SELECT max(b.id) INTO v_last FROM (
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after ORDER BY m.id LIMIT recall.at_most(p_limit)) b;
    -- Mostly one turn: joining every memory to its layer would cost as much as computing its vitality.
    FOR v_alike IN
        SELECT (array_agg(l))[1] AS layer, array_agg(l.name) AS names, count(*) OVER () > 1 AS several
        FROM recall.layers_of(v_tenant) l GROUP BY l.active, l.stale, l.fading ORDER BY l.active, l.stale, l.fading
    LOOP
        IF v_alike.several THEN
            PERFORM FROM recall.activation a
            WHERE a.tenant = v_tenant AND a.memory_id > p_after AND a.memory_id <= v_last
            ORDER BY a.memory_id FOR NO KEY UPDATE;
        END IF;
        PERFORM recall.refresh_range(
            v_tenant, p_after, v_last, v_alike.layer, CASE WHEN v_alike.several THEN v_alike.names END, p_now);
    END LOOP;
    RETURN v_last;
END $$;

-- refresh_range: refreshes the memories with ids above p_after up to p_last whose layer is one of p_layers (NULL:
-- any); p_layer is any of these, all having its zones. Rows are updated in the order of their ids, as everywhere,
-- so that no two calls can deadlock: the plans that would not do so are off. What is joined laterally is computed
-- once a row however often it is used, but keeps retention_of and zone_of from being inlined: they are written out.
CREATE OR REPLACE FUNCTION recall.refresh_range(
    p_tenant text, p_after bigint, p_last bigint, p_layer recall.layer_in_force, p_layers text[], p_now timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off AS $$
DECLARE
    v_weights recall.weights := recall.weights_of(p_tenant);
    v_now double precision := recall.epoch(p_now);
BEGIN
    UPDATE recall.activation a
    SET vitality = s.activation / (1 + s.activation), computed_at = p_now,
        zone = CASE width_bucket(
            greatest(s.activation / (1 + s.activation), CASE WHEN b.protected OR b.memory_id IN (
                SELECT m.id FROM recall.memory m
                WHERE m.tenant = p_tenant AND m.id > p_after AND m.id <= p_last AND m.pinned)
                THEN v_weights.protection_floor END),
            ARRAY[p_layer.fading, p_layer.stale, p_layer.active])
            WHEN 3 THEN 'active' WHEN 2 THEN 'stale' WHEN 1 THEN 'fading' ELSE 'archived' END
    FROM recall.activation b
    LEFT JOIN LATERAL (SELECT recall.activation_sum(b, v_weights, v_now) AS activation) s ON true
    WHERE a.tenant = p_tenant AND a.memory_id > p_after AND a.memory_id <= p_last
      AND b.tenant = p_tenant AND b.memory_id > p_after AND b.memory_id <= p_last AND b.memory_id = a.memory_id
      AND (p_layers IS NULL OR b.memory_id IN (
          SELECT m.id FROM recall.memory m
          WHERE m.tenant = p_tenant AND m.id > p_after AND m.id <= p_last AND m.layer = ANY (p_layers)));
END $$;
