-- Layers as data: what applies to a tenant is its own row of a layer, else the database's.

-- layers_of: every layer this tenant can use, with the clock and decay its rates stand for; by name.
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
           l.median_base
    FROM recall.layer l
    WHERE l.tenant IN (p_tenant, '*')
    ORDER BY l.name, l.tenant = '*'
$$;
