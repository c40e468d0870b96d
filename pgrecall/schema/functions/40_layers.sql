-- Layers as data: what applies to a tenant is its own row of a layer, else the database's.

-- layers_of: every layer this tenant can use, with the clock and decay its rates stand for, and the median
-- base-level activation of its live memories when that was last computed (0 before); by name.
CREATE OR REPLACE FUNCTION recall.layers_of(p_tenant text)
RETURNS TABLE (
    name text, clock double precision, decay double precision, birth_weight double precision,
    median_base double precision
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT ON (l.name)
           l.name,
           CASE l.reading WHEN 'clock' THEN l.metabolic_rate ELSE 1 END,
           CASE l.reading WHEN 'clock' THEN l.base_decay ELSE l.base_decay * l.metabolic_rate END,
           l.birth_weight,
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
BEGIN
    INSERT INTO recall.layer_median (tenant, layer, base, computed_at)
    SELECT v_tenant, m.layer,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(recall.activation_sum(a, v_now))), p_now
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
