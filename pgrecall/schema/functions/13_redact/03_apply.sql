-- Applying a redact plan: its memories, and all that quotes what they had, in logs, comparisons and statistics.

-- redact_planned: replaces the secrets of a redact plan; with p_parts only those of these memories. Sets the outcome of each
-- item, and leaves no lengths, places and digests in it, from which a short secret could be found.
CREATE OR REPLACE FUNCTION recall_private.redact_planned(p_plan recall.plan, p_parts bigint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_item recall.plan_item;
    v_done record;
    v_words text[] := '{}';
    v_ids bigint[];
BEGIN
    -- What redact_plans changes is locked before any memory, as by imports; erasures first, because they delete imports.
    PERFORM FROM recall.erasure e WHERE e.tenant = p_plan.tenant ORDER BY e.id FOR NO KEY UPDATE;
    PERFORM recall_private.lock_tenant(p_plan.tenant, 'import');
    PERFORM FROM recall.plan p WHERE p.tenant = p_plan.tenant AND p.kind = 'import' ORDER BY p.id FOR NO KEY UPDATE;
    PERFORM recall_private.lock_memories(p_plan.tenant, p_changed => ARRAY(
        SELECT i.memory_id FROM recall.plan_item i WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id));
    PERFORM recall_private.skip_other_parts(p_plan, p_parts);
    FOR v_item IN
        SELECT i.* FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IS NULL ORDER BY i.memory_id
    LOOP
        v_done := recall_private.redact_memory(v_item);
        v_words := v_words || v_done.words;
        UPDATE recall.plan_item i
        SET outcome = CASE WHEN v_done.note IS NULL THEN 'redacted' ELSE 'skipped' END, note = v_done.note
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = v_item.memory_id;
    END LOOP;
    UPDATE recall.plan_item i SET findings = recall_private.shown_findings(i.findings)
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id;
    v_ids := ARRAY(SELECT i.memory_id FROM recall.plan_item i
                   WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome = 'redacted' ORDER BY i.memory_id);
    PERFORM recall_private.log_changes(p_plan.tenant, v_ids, 'rewritten', p_now);
    PERFORM recall_private.redact_log(p_plan), recall_private.redact_plans(p_plan);
    PERFORM recall_private.forget_words(p_plan.tenant, v_ids, v_words), recall_private.forget_samples(p_plan, v_words);
END $$;

-- redact_log: replaces what a plan took out in the queries of logged searches, where someone searched for it, and names of
-- sessions in the log of searches and accesses as it does in memories. Undo does not give it back there: the log needs none of
-- it.
CREATE OR REPLACE FUNCTION recall_private.redact_log(p_plan recall.plan) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_secret text;
    v_session record;
BEGIN
    FOR v_session IN
        SELECT DISTINCT m.session_id AS redacted, recall_private.replaced_spans(m.session_id, p.place -> 'spans') AS name
        FROM recall.redacted_text t
        CROSS JOIN LATERAL jsonb_array_elements(t.taken) u(unit)
        CROSS JOIN LATERAL jsonb_array_elements(u.unit -> 'places') p(place)
        JOIN recall.memory m ON m.tenant = p_plan.tenant AND m.id = t.memory_id
        WHERE t.tenant = p_plan.tenant AND t.plan_id = p_plan.id AND p.place -> 'path' ->> 0 = 'session_id'
    LOOP
        UPDATE recall.access a SET session_id = v_session.redacted
        WHERE a.tenant = p_plan.tenant AND a.session_id = v_session.name;
        UPDATE recall.search_log s SET session_id = v_session.redacted
        WHERE s.tenant = p_plan.tenant AND s.session_id = v_session.name;
    END LOOP;
    FOR v_secret IN SELECT jsonb_object_keys(recall_private.taken_by(p_plan)) LOOP
        UPDATE recall.search_log s
        SET query = replace(s.query, v_secret, '[removed]'),
            queries = CASE WHEN s.queries IS NOT NULL THEN ARRAY(SELECT replace(q.query, v_secret, '[removed]')
                            FROM unnest(s.queries) WITH ORDINALITY q(query, place) ORDER BY q.place) END
        WHERE s.tenant = p_plan.tenant
          AND position(v_secret IN concat_ws(E'\n', s.query, array_to_string(s.queries, E'\n'))) > 0;
    END LOOP;
END $$;

-- redact_plans: replaces what a plan took out in what imports, merges and planned erasures keep of keys, sources, tags and
-- targets of links. Undo does not give it back there either.
CREATE OR REPLACE FUNCTION recall_private.redact_plans(p_plan recall.plan) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- Fields of which nothing was taken out stay as they are in memories, so a subject must still say the same.
    UPDATE recall.erasure e SET subject = n.subject
    FROM (SELECT o.id, (
              SELECT jsonb_object_agg(s.key, recall_private.with_placeholders(s.value, recall_private.taken_by(p_plan, s.key)))
              FROM jsonb_each(o.subject) s) AS subject
          FROM recall.erasure o WHERE o.tenant = p_plan.tenant AND o.state <> 'done') n
    WHERE e.tenant = p_plan.tenant AND e.id = n.id AND e.subject <> n.subject;
    WITH secret AS MATERIALIZED (
        SELECT s.key, s.value, recall_private.as_quoted(s.key) AS quoted FROM jsonb_each(recall_private.taken_by(p_plan)) s
    ), kept AS MATERIALIZED (
        SELECT k.*, row_number() OVER () / 50 AS part FROM (
            SELECT i.plan_id, i.memory_id, jsonb_build_array(i.before, i.added_tags, i.added_aliases)::text AS texts
            FROM recall.plan_item i
            WHERE i.tenant = p_plan.tenant AND num_nonnulls(i.before, i.added_tags, i.added_aliases) > 0
            UNION ALL SELECT p.id, NULL, p.options::text FROM recall.plan p WHERE p.tenant = p_plan.tenant) k
    ), near AS MATERIALIZED (
        -- Each item has few. They are looked for in long texts first: 1,000 in 20,000 items take 4 s, item by item 80.
        SELECT k.part, s.* FROM (SELECT o.part, string_agg(o.texts, '') AS texts FROM kept o GROUP BY 1) k
        JOIN secret s ON position(s.quoted IN k.texts) > 0
    ), held AS MATERIALIZED (
        SELECT k.plan_id, k.memory_id, jsonb_object_agg(n.key, n.value) AS secrets
        FROM kept k JOIN near n ON n.part = k.part AND position(n.quoted IN k.texts) > 0 GROUP BY 1, 2
    ), options AS (
        UPDATE recall.plan p SET options = recall_private.with_placeholders(p.options, h.secrets) FROM held h
        WHERE p.tenant = p_plan.tenant AND p.id = h.plan_id AND h.memory_id IS NULL
    )
    UPDATE recall.plan_item i SET before = recall_private.with_placeholders(i.before, h.secrets),
        added_tags = CASE WHEN i.added_tags IS NOT NULL THEN ARRAY(
            SELECT jsonb_array_elements_text(recall_private.with_placeholders(to_jsonb(i.added_tags), h.secrets))) END,
        added_aliases = CASE WHEN i.added_aliases IS NOT NULL THEN ARRAY(
            SELECT jsonb_array_elements_text(recall_private.with_placeholders(to_jsonb(i.added_aliases), h.secrets))) END
    FROM held h WHERE i.tenant = p_plan.tenant AND i.plan_id = h.plan_id AND i.memory_id = h.memory_id;
    -- What with_own_key added: with the key of another memory, undoing an import would rename the wrong one.
    UPDATE recall.plan_item i SET before = jsonb_set(i.before, '{after,key}', to_jsonb(m.key))
    FROM recall.redacted_text t JOIN recall.memory m ON m.tenant = t.tenant AND m.id = t.memory_id
    WHERE t.tenant = p_plan.tenant AND t.plan_id = p_plan.id AND i.tenant = t.tenant AND i.memory_id = t.memory_id
      AND m.key = (i.before -> 'after' ->> 'key') || '+' || t.memory_id;
END $$;

-- as_quoted: a text as it stands in the text of some JSON.
CREATE OR REPLACE FUNCTION recall_private.as_quoted(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN trim('"' FROM to_jsonb(p_text)::text);

-- with_placeholders: JSON in whose texts each of these secrets has its placeholder, longer ones first.
CREATE OR REPLACE FUNCTION recall_private.with_placeholders(p_json jsonb, p_secrets jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_text text := p_json #>> '{}';
    v_one record;
BEGIN
    CASE jsonb_typeof(p_json)
        WHEN 'object' THEN
            RETURN (SELECT coalesce(jsonb_object_agg(e.key, recall_private.with_placeholders(e.value, p_secrets)), '{}')
                    FROM jsonb_each(p_json) e);
        WHEN 'array' THEN
            RETURN (SELECT coalesce(jsonb_agg(recall_private.with_placeholders(e.value, p_secrets) ORDER BY e.place), '[]')
                    FROM jsonb_array_elements(p_json) WITH ORDINALITY e(value, place));
        WHEN 'string' THEN
            FOR v_one IN SELECT e.key AS secret, e.value AS mark FROM jsonb_each_text(p_secrets) e ORDER BY length(e.key) DESC LOOP
                v_text := replace(v_text, v_one.secret, v_one.mark);
            END LOOP;
            RETURN to_jsonb(v_text);
        ELSE
            RETURN p_json;
    END CASE;
END $$;

-- forget_words: deletes what was computed from earlier texts of these memories and quotes them: comparisons with others,
-- and the frequencies of words that no memory has any more.
CREATE OR REPLACE FUNCTION recall_private.forget_words(p_tenant text, p_ids bigint[], p_words text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_ids = '{}' THEN
        RETURN;
    END IF;
    DELETE FROM recall.compared c WHERE c.tenant = p_tenant AND c.memory_id = ANY (p_ids);
    DELETE FROM recall.duplicate_pair d WHERE d.tenant = p_tenant AND (d.src = ANY (p_ids) OR d.dst = ANY (p_ids));
    UPDATE recall.plan p SET report = jsonb_set(p.report, '{contradictions}', k.kept)
    FROM recall.plan o CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(e.value ORDER BY e.place), '[]') AS kept
        FROM jsonb_array_elements(o.report -> 'contradictions') WITH ORDINALITY e(value, place)
        WHERE (e.value ->> 'src')::bigint <> ALL (p_ids) AND (e.value ->> 'dst')::bigint <> ALL (p_ids)) k
    WHERE o.tenant = p_tenant AND o.kind = 'dedupe' AND p.tenant = p_tenant AND p.id = o.id
      AND k.kept <> o.report -> 'contradictions';
    PERFORM recall_private.drop_unused_lexemes(p_tenant, p_words);
END $$;

-- forget_samples: analyzes the columns of which the statistics of Postgres quote something that a plan took out, or a word that
-- left. They sample some hundred rows, so most have nothing of it: with 60,000 memories, analyzing all took 18 s, and a
-- plan for 120 of them takes 7 s with this. A table that another transaction has analyzed, and holds, is skipped; the report of
-- the plan says so. The statistics are those of all tenants, so their size does not follow the caller's setting.
CREATE OR REPLACE FUNCTION recall_private.forget_samples(p_plan recall.plan, p_words text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET default_statistics_target = 100 AS $$
DECLARE
    -- Of each a part that arrays and JSON write as it is; NULL if it has none: then every column is analyzed.
    v_parts text[] := ARRAY(
        SELECT lower((regexp_match(s.secret, '[A-Za-z0-9+/_-]{6,}'))[1])
        FROM jsonb_object_keys(recall_private.taken_by(p_plan)) s(secret)
        UNION SELECT u FROM unnest(p_words) u WHERE length(u) >= 4);
    v_place record;
    v_places regclass[] := '{}';
    v_skipped text;
BEGIN
    FOR v_place IN
        SELECT coalesce(i.indrelid, c.oid)::regclass AS relation,
               CASE WHEN bool_and(i.indrelid IS NULL) THEN string_agg(quote_ident(s.attname), ', ') END AS columns
        FROM pg_stats s
        JOIN pg_class c ON c.relnamespace = 'recall'::regnamespace AND c.relname = s.tablename
        LEFT JOIN pg_index i ON i.indexrelid = c.oid
        CROSS JOIN LATERAL (SELECT lower(concat_ws(
            ' ', s.most_common_vals, s.histogram_bounds, s.most_common_elems)) AS sampled OFFSET 0) x
        WHERE s.schemaname = 'recall' AND EXISTS (
            SELECT FROM unnest(v_parts) p WHERE p IS NULL OR position(p IN x.sampled) > 0)
        GROUP BY 1 ORDER BY 1
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s%s', v_place.relation, coalesce(' (' || v_place.columns || ')', ''));
        v_places := v_places || v_place.relation;
    END LOOP;
    v_skipped := recall_private.not_analyzed(v_places);
    UPDATE recall.plan p SET report = p.report || jsonb_build_object('remains', format(
        'The planner statistics of %s may still quote what was replaced, because other transactions held it: ANALYZE %1$s.',
        v_skipped))
    WHERE p.tenant = p_plan.tenant AND p.id = p_plan.id AND v_skipped IS NOT NULL;
END $$;

-- taken_by: what a plan took out, and what it wrote instead: {secret: placeholder}; only of fields that begin with this.
CREATE OR REPLACE FUNCTION recall_private.taken_by(p_plan recall.plan, p_field text DEFAULT '') RETURNS jsonb
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(jsonb_object_agg(s.span ->> 2, s.span ->> 3), '{}')
    FROM recall.redacted_text t
    CROSS JOIN LATERAL jsonb_array_elements(t.taken) u(unit)
    CROSS JOIN LATERAL jsonb_array_elements(u.unit -> 'places') p(place)
    CROSS JOIN LATERAL jsonb_array_elements(p.place -> 'spans') s(span)
    WHERE t.tenant = p_plan.tenant AND t.plan_id = p_plan.id AND s.span ->> 2 <> ''
      AND starts_with(p.place -> 'path' ->> 0, p_field)
$$;
