-- Settings: tuning parameters with defaults and bounds. A tenant's own value overrides the database's value ('*').

-- known_settings: all settings by name, with default, inclusive bounds and meaning. Inlined.
CREATE OR REPLACE FUNCTION recall_private.known_settings()
RETURNS TABLE (
    name text, default_value double precision, low double precision, high double precision, about text
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    VALUES
    ('access.burst_minutes', 10::double precision, 0::double precision, 1440::double precision,
     'Accesses of one memory with the same kind and session within this many minutes count once.'),
    ('access.weight_read', 1, 0, 100, 'Weight of a read.'),
    ('access.weight_reference', 1, 0, 100, 'Weight of a reference from another memory.'),
    ('access.weight_retrieval', 0.1, 0, 100, 'Weight of being shown as a hit.'),
    ('access.weight_used', 1, 0, 100, 'Weight of being used in an answer.'),
    ('access.weight_write', 1, 0, 100, 'Weight of a write after the first.'),
    ('association.fan_out', 32, 1, 1000, 'Most associations that a memory keeps.'),
    ('association.half_life_days', 180, 0.01, 3650, 'Days in which the strength of an association halves.'),
    ('association.window_minutes', 60, 0.1, 10080,
     'Memories accessed within this many minutes in one session become associated.'),
    ('changes.days', 90, 1, 36500, 'Days for which the log of changes is kept.'),
    ('confidence.intercept', 4.95, -100, 100, 'Log-odds that a search found an answer, before the other terms.'),
    ('confidence.relevance', 1.3, 0, 10,
     'Log-odds that a search found an answer, for each log-odds of its most relevant memory.'),
    ('confidence.size', -0.73, -10, 10,
     'Log-odds that a search found an answer, for each unit of ln(1 + memories), up to 1,000 memories.'),
    ('dedupe.max_count', 1000, 1, 1000000, 'Most memories that a dedupe plan merges into others.'),
    ('dedupe.min_similarity', 0.9, 0.7, 1, 'Similarity of vectors from which two texts are compared as duplicates.'),
    ('dedupe.neighbours', 8, 1, 50, 'Most neighbours with which a memory is compared as a duplicate.'),
    ('dedupe.plan_days', 7, 0.001, 3650, 'Days after which a dedupe plan can no longer be applied.'),
    ('feedback.position_bias', 1, 0, 3,
     'How much less often lower ranks are looked at, where feedback is too scarce to measure it.'),
    ('graph.min_cut', 3, 1, 1000000, 'Number of live memories that a memory must keep connected to be protected.'),
    ('health.silent_days', 7, 0.01, 3650, 'Days without any access before the alarm.'),
    ('job.dedupe.minutes', 1440, 0, 525600,
     'Minutes between runs of the job that plans which duplicates to merge (a dry run); 0 turns it off.'),
    ('job.alerts.minutes', 5, 0, 525600,
     'Minutes between runs of the job that reports alarms to the alert hook; 0 turns it off.'),
    ('job.backup.minutes', 1440, 0, 525600,
     'Minutes between runs of the job that backs up the database, where a folder is configured; 0 turns it off.'),
    ('job.embed.minutes', 1, 0, 525600,
     'Minutes between runs of the job that embeds memories stored without a vector; 0 turns it off.'),
    ('job.expire.minutes', 15, 0, 525600,
     'Minutes between runs of the job that archives expired memories and deletes old searches; 0 turns it off.'),
    ('job.fold.minutes', 0.5, 0, 525600,
     'Minutes between runs of the job that folds accesses into activations; 0 turns it off.'),
    ('job.graph.minutes', 60, 0, 525600,
     'Minutes between runs of the job that updates the link graph and its protections; 0 turns it off.'),
    ('job.import.minutes', 1, 0, 525600,
     'Minutes between runs of the job that follows folders of notes, where any are configured; 0 turns it off.'),
    ('job.partitions.minutes', 1440, 0, 525600,
     'Minutes between runs of the job that creates partitions of the access log; 0 turns it off.'),
    ('job.prune.minutes', 1440, 0, 525600,
     'Minutes between runs of the job that plans a prune (a dry run); 0 turns it off.'),
    ('job.statistics.minutes', 60, 0, 525600,
     'Minutes between runs of the job that recounts document frequencies; 0 turns it off.'),
    ('job.vectors.minutes', 5, 0, 525600,
     'Minutes between runs of the job that gives large tenants their own vector index; 0 turns it off.'),
    ('job.verify.minutes', 1440, 0, 525600,
     'Minutes between runs of the job that checks the stored data; 0 turns it off.'),
    ('job.vitality.minutes', 15, 0, 525600,
     'Minutes between runs of the job that refreshes the vitality shown in reports; 0 turns it off.'),
    ('prune.grace_days', 30, 0, 36500, 'Days for which a memory is safe from pruning after it was stored or accessed.'),
    ('prune.max_count', 1000, 1, 1000000, 'Most memories that a plan archives.'),
    ('prune.max_share', 0.1, 0.000001, 1, 'Largest share of the live memories that a plan archives.'),
    ('prune.plan_days', 7, 0.001, 3650, 'Days after which a plan can no longer be applied.'),
    ('prune.revival_days', 14, 0, 3650, 'Days for which a memory is safe from pruning after it gained a link.'),
    ('redact.plan_days', 7, 0.001, 3650, 'Days after which a redact plan can no longer be applied.'),
    ('search.answer_share', 0.2, 0, 1, 'Share of its relevance that a question passes on to the turn that answers it.'),
    ('search.author_weight', 1, 0, 10, 'Factor of the coefficient for an author named in the query.'),
    ('search.directive_lift', 4, 0, 20,
     'Log-odds that an instruction or preference gains in a search for a request, half of it in other searches.'),
    ('search.directives', 5, 0, 20, 'Most instructions and preferences that a search lifts; 0 lifts none.'),
    ('search.experiment', 0, 0, 1000000,
     'Number of the experiment that assigns sessions to arms at random (a whole number); 0 runs none.'),
    ('search.experiment_weight', 1, 0, 10, 'Weight of vitality in the arm `other` of an experiment.'),
    ('search.hop_share', 0.5, 0, 1, 'Share of its relevance that a memory passes on along a link.'),
    ('search.log_days', 90, 0, 36500, 'Days for which a search and its query are kept for feedback; 0 keeps none.'),
    ('search.min_confidence', 0.2, 0, 1,
     'Confidence below which a search that requires an answer returns nothing.'),
    ('search.newer_gap', 2, 0, 20,
     'Log-odds by which the newer of two versions of a statement may be behind the older one and still go first; 0 is never.'),
    ('search.next_share', 0.2, 0, 1, 'Share of its relevance that a turn passes on to the next one.'),
    ('search.previous_share', 0.1, 0, 1, 'Share of its relevance that a turn passes on to the previous one.'),
    ('spread.damping', 0.6, 0, 1, 'Share of a spreading access that remains after each link.'),
    ('spread.fan_exponent', 0.5, 0, 2, 'An access is divided by the number of neighbours to this power when it spreads.'),
    ('spread.fan_out', 16, 1, 200, 'Most neighbours that an access spreads to from one memory.'),
    ('spread.hops', 2, 0, 2, 'Most links that an access spreads across.'),
    ('spread.limit', 32, 1, 1000, 'Most memories that one access spreads to.'),
    ('versions.per_memory', 20, 0, 1000, 'Most earlier versions that a memory keeps; 0 keeps none.'),
    ('vitality.protection_floor', 0.5, 0, 0.999, 'Lowest retention of a protected or pinned memory.'),
    ('vitality.revival_days', 23.02585092994046, 0, 3650, 'Days after which a revival ends.'),
    ('vitality.revival_rate', 0.2, 0.000001, 100, 'Rate at which a revival fades, per day.'),
    ('vitality.revival_weight', 1, 0, 100, 'Amount that a new link adds to S.'),
    ('vitality.spread_half_life_days', 7, 0.01, 3650, 'Days in which a spreading boost halves.'),
    ('vitality.spread_weight', 0.1, 0, 10, 'Amount that a full spreading boost adds to S.'),
    ('vitality.stretch_links', 10, 0, 1000, 'Most references that slow ageing.'),
    ('vitality.stretch_per_link', 0.1, 0, 1, 'How much each reference slows ageing.'),
    ('vitality.weight', 0.5, 0, 10, 'Weight of vitality relative to relevance, in log-odds.');
END;

-- setting_value: the tenant's value of a setting, else the database's, else NULL. It is PL/pgSQL, which caches its
-- plans, because almost every call of the schema reads settings.
CREATE OR REPLACE FUNCTION recall_private.setting_value(p_tenant text, p_name text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT s.value FROM recall.setting s
        WHERE s.tenant IN (p_tenant, '*') AND s.name = p_name
        ORDER BY s.tenant = '*' LIMIT 1);
END $$;

-- default_settings: the default of every setting, by name. IMMUTABLE, so that plans contain its result.
CREATE OR REPLACE FUNCTION recall_private.default_settings() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_agg(k.name, k.default_value) FROM recall_private.known_settings() k
$$;

-- is_number: whether a value is a number that can be used in a computation. Other values are ignored wherever a number
-- is read, and verify() reports them: one tenant's bad row must not stop a function that reads the settings of all.
CREATE OR REPLACE FUNCTION recall_private.is_number(p_value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(p_value)
    WHEN 'number' THEN p_value = '0' OR abs(p_value::numeric) BETWEEN 1e-30 AND 1e15 ELSE false END;

-- setting_number: the value in force for this tenant: its own, else the database's, else the default. It is PL/pgSQL,
-- which caches its plans, because every access reads a dozen settings.
CREATE OR REPLACE FUNCTION recall_private.setting_number(p_tenant text, p_name text) RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN coalesce(
        (SELECT s.value::double precision FROM recall.setting s
         WHERE s.tenant IN (p_tenant, '*') AND s.name = p_name AND recall_private.is_number(s.value)
         ORDER BY s.tenant = '*' LIMIT 1),
        (recall_private.default_settings() ->> p_name)::double precision);
END $$;

-- ranking_defaults: the default of each setting that a search or vitality reads, by name. IMMUTABLE, so that plans contain
-- its result.
CREATE OR REPLACE FUNCTION recall_private.ranking_defaults() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_agg(k.name, k.default_value) FROM recall_private.known_settings() k
    WHERE split_part(k.name, '.', 1) IN ('search', 'confidence', 'vitality')
$$;

-- effective_settings: the values in force for this tenant, by name: the ranking_defaults, overridden by the database's
-- values, overridden by the tenant's. For callers that read many.
CREATE OR REPLACE FUNCTION recall_private.effective_settings(p_tenant text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN recall_private.ranking_defaults() || coalesce((
        SELECT jsonb_object_agg(s.name, s.value ORDER BY s.tenant <> '*')
        FROM recall.setting s WHERE s.tenant IN (p_tenant, '*')
          AND (recall_private.is_number(s.value) OR NOT recall_private.default_settings() ? s.name)), '{}');
END $$;

-- settings (reader; Settings): every setting with the value in force for this tenant and its source, by name.
CREATE OR REPLACE FUNCTION recall.settings()
RETURNS TABLE (
    name text, value double precision, source text, default_value double precision,
    low double precision, high double precision, about text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT k.name, coalesce(s.value::double precision, k.default_value),
           CASE WHEN s.tenant IS NULL THEN 'default' WHEN s.tenant = '*' THEN 'database' ELSE 'tenant' END,
           k.default_value, k.low, k.high, k.about
    FROM recall_private.known_settings() k
    LEFT JOIN LATERAL (
        SELECT s.tenant, s.value FROM recall.setting s
        WHERE s.tenant IN ((SELECT recall.current_tenant()), '*') AND s.name = k.name AND recall_private.is_number(s.value)
        ORDER BY s.tenant = '*' LIMIT 1) s ON true
    ORDER BY k.name
$$;

-- check_setting: raises an error for an unknown name or a value out of bounds.
CREATE OR REPLACE FUNCTION recall_private.check_setting(p_name text, p_value double precision) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_known record;
BEGIN
    SELECT * INTO v_known FROM recall_private.known_settings() k WHERE k.name = p_name;
    IF NOT FOUND THEN
        PERFORM recall_private.raise_invalid(format('There is no setting %L.', left(p_name, 100)),
            'List them with `pgrecall settings list`, or in SQL with recall.settings().');
    ELSIF NOT coalesce(p_value BETWEEN v_known.low AND v_known.high, p_value IS NULL) THEN
        PERFORM recall_private.raise_invalid(format('%s is %s; it must lie between %s and %s.',
            p_name, p_value, v_known.low::numeric, v_known.high::numeric));
    ELSIF p_value <> 0 AND abs(p_value) < 1e-30 THEN
        -- A product with it may be too small for a double, which is an error in Postgres.
        PERFORM recall_private.raise_invalid(format('%s is %s; it must be 0 or at least 1e-30 from it.', p_name, p_value));
    END IF;
END $$;

-- set_setting (app; Settings): sets a setting for this tenant; NULL removes the tenant's own value.
CREATE OR REPLACE FUNCTION recall.set_setting(p_name text, p_value double precision) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.check_setting(p_name, p_value);
    IF p_value IS NULL THEN
        DELETE FROM recall.setting s WHERE s.tenant = v_tenant AND s.name = p_name;
    ELSE
        INSERT INTO recall.setting (tenant, name, value) VALUES (v_tenant, p_name, to_jsonb(p_value))
        ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value;
    END IF;
    IF p_name IN ('access.burst_minutes', 'vitality.spread_half_life_days') THEN
        PERFORM recall.rebuild();  -- the summaries depend on these settings
    END IF;
END $$;

-- vitality_weights_from: the weights of the terms of vitality, read from these settings.
CREATE OR REPLACE FUNCTION recall_private.vitality_weights_from(p_settings jsonb) RETURNS recall.weights
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_weights recall.weights := ROW(
        p_settings -> 'vitality.spread_weight', p_settings -> 'vitality.spread_half_life_days',
        p_settings -> 'vitality.revival_weight', p_settings -> 'vitality.revival_rate',
        p_settings -> 'vitality.revival_days', p_settings -> 'vitality.stretch_per_link',
        p_settings -> 'vitality.stretch_links', p_settings -> 'vitality.protection_floor');
BEGIN
    RETURN v_weights;
END $$;

-- vitality_weights: the weights of the terms of vitality that apply to this tenant.
CREATE OR REPLACE FUNCTION recall_private.vitality_weights(p_tenant text) RETURNS recall.weights
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.vitality_weights_from(recall_private.effective_settings(p_tenant));
END $$;
