-- Changes of layers. A tenant's own row of a layer takes precedence over the database's. A change applies to the
-- activations of its memories at once.

-- effective_layer: the row of a layer that applies to a tenant, in the form of a row of its own. If there is no such
-- layer, the row of a new one.
CREATE OR REPLACE FUNCTION recall_private.effective_layer(p_tenant text, p_name text) RETURNS recall.layer
LANGUAGE sql STABLE AS $$
    SELECT jsonb_populate_record(NULL::recall.layer, coalesce(
               (SELECT to_jsonb(l) FROM recall.layer l
                WHERE l.tenant IN (p_tenant, '*') AND l.name = p_name ORDER BY l.tenant = '*' LIMIT 1),
               '{"metabolic_rate": 1, "reading": "clock", "base_decay": 0.5, "birth_weight": 1,
                 "profile": "balanced", "active": 0.6, "stale": 0.3, "fading": 0.1}')
           || jsonb_build_object('tenant', p_tenant, 'name', p_name))
$$;

-- layers (reader; Layers): every layer this tenant can use, with its rates and thresholds, the resulting clock and
-- decay, and whether the row is the tenant's or the database's.
CREATE OR REPLACE FUNCTION recall.layers()
RETURNS TABLE (
    name text, metabolic_rate double precision, reading text, base_decay double precision,
    clock double precision, decay double precision, birth_weight double precision, active double precision,
    stale double precision, fading double precision, profile text, median_base double precision, source text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT f.name, r.metabolic_rate, r.reading, r.base_decay, f.clock, f.decay, r.birth_weight, r.active,
           r.stale, r.fading, r.profile, f.median_base, CASE WHEN o.name IS NULL THEN 'database' ELSE 'tenant' END
    FROM (SELECT recall.current_tenant() AS tenant OFFSET 0) c
    CROSS JOIN LATERAL recall_private.effective_layers(c.tenant) f
    CROSS JOIN LATERAL recall_private.effective_layer(c.tenant, f.name) r
    LEFT JOIN recall.layer o ON o.tenant = c.tenant AND o.name = f.name
    ORDER BY f.name
$$;

-- check_layer: raises an error for a layer with an invalid name, rate or threshold.
CREATE OR REPLACE FUNCTION recall_private.check_layer(l recall.layer) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_decay double precision := l.base_decay * CASE l.reading WHEN 'exponent' THEN l.metabolic_rate ELSE 1 END;
BEGIN
    IF coalesce(length(l.name), 0) NOT BETWEEN 1 AND 100 THEN
        PERFORM recall_private.raise_invalid(
            format('The name of a layer has 1 to 100 characters, not %s.', coalesce(length(l.name), 0)));
    ELSIF l.name <> btrim(l.name) OR l.name ~ '[[:cntrl:]]' THEN
        PERFORM recall_private.raise_invalid(
            format('The layer name %L has control characters, or a space at its beginning or end.', l.name));
    ELSIF l.reading NOT IN ('clock', 'exponent') THEN
        PERFORM recall_private.raise_invalid(
            format('The reading %L of layer %L is unknown.', left(l.reading, 100), l.name), 'Use clock or exponent.');
    ELSIF NOT l.metabolic_rate BETWEEN 0.001 AND 1000 THEN
        PERFORM recall_private.raise_invalid(format('The metabolic rate of layer %L is %s; it must lie between 0.001 and 1000.',
            l.name, l.metabolic_rate));
    ELSIF NOT l.base_decay BETWEEN 0.001 AND 10 THEN
        PERFORM recall_private.raise_invalid(format('The base decay of layer %L is %s; it must lie between 0.001 and 10.',
            l.name, l.base_decay));
    ELSIF NOT v_decay BETWEEN 0.0001 AND 10 THEN
        PERFORM recall_private.raise_invalid(
            format('Rate %s times base decay %s gives layer %L the decay %s; it must lie between 0.0001 and 10.',
                   l.metabolic_rate, l.base_decay, l.name, v_decay),
            'Choose a smaller rate, or the reading clock.');
    ELSIF NOT l.birth_weight BETWEEN 1 AND 100 THEN
        PERFORM recall_private.raise_invalid(format('The birth weight of layer %L is %s; it must lie between 1 and 100.',
            l.name, l.birth_weight));
    ELSIF NOT (1 > l.active AND l.active > l.stale AND l.stale > l.fading AND l.fading > 0) THEN
        PERFORM recall_private.raise_invalid(
            format('The thresholds of layer %L are active %s, stale %s, fading %s; they must fall from below 1 '
                   'to above 0.', l.name, l.active, l.stale, l.fading));
    ELSIF length(l.profile) NOT BETWEEN 1 AND 100 THEN
        PERFORM recall_private.raise_invalid(
            format('The profile of a layer has 1 to 100 characters, not %s.', length(l.profile)));
    END IF;
END $$;

-- store_layer: checks a layer and stores it as its tenant's row.
CREATE OR REPLACE FUNCTION recall_private.store_layer(l recall.layer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM recall_private.check_layer(l);
    INSERT INTO recall.layer SELECT l.*
    ON CONFLICT (tenant, name) DO UPDATE SET
        metabolic_rate = excluded.metabolic_rate, reading = excluded.reading, base_decay = excluded.base_decay,
        birth_weight = excluded.birth_weight, profile = excluded.profile, active = excluded.active,
        stale = excluded.stale, fading = excluded.fading;
END $$;

-- retune_layers: gives the memories of these layers the current clock and decay, and recomputes the medians. Returns how
-- many memories it changed.
CREATE OR REPLACE FUNCTION recall_private.retune_layers(p_tenant text, p_layers text[], p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ids bigint[];
BEGIN
    v_ids := ARRAY(
        SELECT a.memory_id
        FROM recall.memory m
        JOIN recall_private.effective_layers(p_tenant) l ON l.name = m.layer
        JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = m.id
        WHERE m.tenant = p_tenant AND m.layer = ANY (p_layers)
          AND (a.decay, a.clock) IS DISTINCT FROM (l.decay, l.clock)
        ORDER BY a.memory_id FOR NO KEY UPDATE OF a);
    IF cardinality(v_ids) > 0 THEN
        PERFORM recall_private.retune_memories(p_tenant, v_ids);
        -- No median is computed for a layer without live memories, and the stored one belongs to the old rates.
        DELETE FROM recall.layer_median d WHERE d.tenant = p_tenant AND d.layer = ANY (p_layers);
        PERFORM recall.refresh_medians(p_now);
    END IF;
    RETURN cardinality(v_ids);
END $$;

-- set_layer (app; Layers): creates or changes this tenant's row of a layer. NULL keeps the current value, or the
-- default of a new layer. Returns how many memories age differently from now on. A birth weight applies to new
-- memories.
CREATE OR REPLACE FUNCTION recall.set_layer(
    p_name text, p_metabolic_rate double precision DEFAULT NULL, p_reading text DEFAULT NULL,
    p_base_decay double precision DEFAULT NULL, p_birth_weight double precision DEFAULT NULL,
    p_active double precision DEFAULT NULL, p_stale double precision DEFAULT NULL,
    p_fading double precision DEFAULT NULL, p_profile text DEFAULT NULL, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_layer recall.layer;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.lock_rules(v_tenant);
    v_layer := recall_private.effective_layer(v_tenant, p_name);
    v_layer.metabolic_rate := coalesce(p_metabolic_rate, v_layer.metabolic_rate);
    v_layer.reading := coalesce(p_reading, v_layer.reading);
    v_layer.base_decay := coalesce(p_base_decay, v_layer.base_decay);
    v_layer.birth_weight := coalesce(p_birth_weight, v_layer.birth_weight);
    v_layer.active := coalesce(p_active, v_layer.active);
    v_layer.stale := coalesce(p_stale, v_layer.stale);
    v_layer.fading := coalesce(p_fading, v_layer.fading);
    v_layer.profile := coalesce(p_profile, v_layer.profile);
    PERFORM recall_private.store_layer(v_layer);
    RETURN recall_private.retune_layers(v_tenant, ARRAY[p_name], p_now);
END $$;

-- drop_layer (app; Layers): removes this tenant's row of a layer, so that the database's applies again. Returns false
-- if there was none. Raises an error if the database has no such layer and memories are in it.
CREATE OR REPLACE FUNCTION recall.drop_layer(p_name text, p_now timestamptz DEFAULT now()) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_general boolean;
    v_memories bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.lock_rules(v_tenant);
    v_general := EXISTS (SELECT FROM recall.layer l WHERE l.tenant = '*' AND l.name = p_name);
    DELETE FROM recall.layer l WHERE l.tenant = v_tenant AND l.name = p_name;
    IF NOT FOUND AND NOT v_general THEN
        PERFORM recall_private.raise_invalid(format('There is no layer %L.', left(p_name, 100)), format('Choose one of: %s.', (
            SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM recall_private.effective_layers(v_tenant) l)));
    ELSIF NOT FOUND THEN
        RETURN false;
    ELSIF NOT v_general THEN
        SELECT count(*) INTO v_memories FROM recall.memory m WHERE m.tenant = v_tenant AND m.layer = p_name;
        IF v_memories > 0 THEN
            PERFORM recall_private.raise_invalid(
                format('Layer %L cannot be deleted: %s, and the database has no layer with this name.', p_name,
                       CASE v_memories WHEN 1 THEN '1 memory is in it' ELSE v_memories || ' memories are in it' END),
                'Move them to another layer first.');
        END IF;
        DELETE FROM recall.layer_median d WHERE d.tenant = v_tenant AND d.layer = p_name;
    END IF;
    PERFORM recall_private.retune_layers(v_tenant, ARRAY[p_name], p_now);
    RETURN true;
END $$;

-- presets (reader; Layers): the layers of each preset with their rates and thresholds. `default` uses the rates as
-- clocks, with the decay of the source. `seed` follows the source exactly. `calibrated` uses the rates as clocks, with
-- a decay fitted to access logs.
CREATE OR REPLACE FUNCTION recall.presets()
RETURNS TABLE (
    preset text, layer text, metabolic_rate double precision, reading text, base_decay double precision,
    birth_weight double precision, active double precision, stale double precision, fading double precision
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT p.name, l.name, l.rate, p.reading, p.decay, CASE l.name WHEN 'entity' THEN p.entity_birth ELSE 1 END,
           0.6, 0.3, 0.1
    FROM (VALUES ('default', 'clock', 0.5, 2), ('seed', 'exponent', 0.5, 1), ('calibrated', 'clock', 0.6, 2))
        p(name, reading, decay, entity_birth)
    CROSS JOIN (VALUES ('entity', 0.1), ('knowledge', 1), ('episodic', 2), ('activity', 3)) l(name, rate)
$$;

-- preset_settings: the settings of each preset. Every preset sets the same names, so that nothing of an earlier preset
-- remains.
CREATE OR REPLACE FUNCTION recall_private.preset_settings()
RETURNS TABLE (preset text, name text, value double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT p.preset, k.name, coalesce(p.value, k.default_value)
    FROM (VALUES ('default', NULL::double precision), ('seed', 14), ('calibrated', NULL)) p(preset, value)
    JOIN recall_private.known_settings() k ON k.name = 'vitality.revival_days'
$$;

-- use_preset (app; Layers): sets this tenant's layers and settings to those of the preset. Other layers stay. Returns
-- how many memories age differently from now on.
CREATE OR REPLACE FUNCTION recall.use_preset(p_name text, p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_layers text[];
    v_changed bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.lock_rules(v_tenant);
    SELECT array_agg(p.layer ORDER BY p.layer) INTO v_layers FROM recall.presets() p WHERE p.preset = p_name;
    IF v_layers IS NULL THEN
        PERFORM recall_private.raise_invalid(format('There is no preset %L.', left(p_name, 100)), format('Choose one of: %s.', (
            SELECT string_agg(DISTINCT p.preset, ', ') FROM recall.presets() p)));
    END IF;
    PERFORM recall_private.store_layer(jsonb_populate_record(recall_private.effective_layer(v_tenant, p.layer), to_jsonb(p)))
    FROM recall.presets() p WHERE p.preset = p_name;
    PERFORM recall.set_setting(s.name, s.value) FROM recall_private.preset_settings() s WHERE s.preset = p_name;
    v_changed := recall_private.retune_layers(v_tenant, v_layers, p_now);
    -- The settings of the preset apply to all layers.
    PERFORM recall.refresh_medians(p_now);
    RETURN v_changed;
END $$;
