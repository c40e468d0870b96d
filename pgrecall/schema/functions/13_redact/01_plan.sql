-- Redaction: plans that replace passwords, keys and tokens in stored texts by visible placeholders. A client finds them,
-- because the patterns are those of Python. A plan says where they are and of what kind, never what they are.

-- version_texts: the texts of a version of a memory as a JSON object, in which a path names a text; 0 is the current one,
-- which also has its key, its session, the targets of links that wait for a memory, and the number of the newest version, so
-- that it changes with every rewrite. NULL if there is no such version.
CREATE OR REPLACE FUNCTION recall_private.version_texts(p_tenant text, p_memory_id bigint, p_version int) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_version = 0 THEN
        RETURN (
            SELECT jsonb_build_object('title', m.title, 'body', m.body, 'context', m.context, 'tags', m.tags,
                                      'aliases', m.aliases, 'author', m.author, 'source', m.source,
                                      'metadata', m.metadata, 'key', m.key, 'session_id', m.session_id, 'links', (
                       SELECT coalesce(jsonb_agg(l.target ORDER BY l.target, l.relation), '[]')
                       FROM recall.pending_link l WHERE l.tenant = p_tenant AND l.src = m.id), 'newest', (
                       SELECT max(v.number) FROM recall.memory_version v WHERE v.tenant = p_tenant AND v.memory_id = m.id))
            FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = p_memory_id);
    END IF;
    RETURN (
        SELECT jsonb_build_object('title', v.title, 'body', v.body, 'tags', v.tags, 'aliases', v.aliases,
                                  'author', v.author, 'metadata', v.metadata)
        FROM recall.memory_version v WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.number = p_version);
END $$;

-- stored_texts (reader; Plans): the texts of this tenant's memories and of their versions after a position, by memory
-- and version, for a search for secrets: `version` is 0 for the current text. `digest` is what plan_redact takes. A
-- page has up to p_limit rows, and ends where its texts exceed p_max_bytes. An empty page is the end.
CREATE OR REPLACE FUNCTION recall.stored_texts(
    p_after bigint DEFAULT 0, p_after_version int DEFAULT 0, p_limit int DEFAULT 500, p_max_bytes bigint DEFAULT 4000000
) RETURNS TABLE (memory_id bigint, version int, texts jsonb, digest text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_bytes bigint := 0;
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 10000, 'p_limit');
    FOR memory_id, version IN
        SELECT m.id, n.number
        FROM (SELECT o.id FROM recall.memory o WHERE o.tenant = v_tenant AND o.id >= p_after ORDER BY o.id LIMIT p_limit + 1) m
        CROSS JOIN LATERAL (
            SELECT 0 AS number
            UNION ALL SELECT v.number FROM recall.memory_version v WHERE v.tenant = v_tenant AND v.memory_id = m.id) n
        WHERE (m.id, n.number) > (p_after, p_after_version)
        ORDER BY m.id, n.number LIMIT p_limit
    LOOP
        texts := recall_private.version_texts(v_tenant, memory_id, version);
        digest := md5(texts::text);
        RETURN NEXT;
        v_bytes := v_bytes + octet_length(texts::text);
        EXIT WHEN v_bytes > p_max_bytes;
    END LOOP;
END $$;

-- are_spans: whether these are the spans of secrets in a text, [start, length, kind] each in characters from 0, in the order
-- of the text.
CREATE OR REPLACE FUNCTION recall_private.are_spans(p_spans jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_span jsonb;
    v_end bigint := 0;
BEGIN
    IF jsonb_typeof(p_spans) IS DISTINCT FROM 'array' OR p_spans = '[]' THEN
        RETURN false;
    END IF;
    FOR v_span IN SELECT * FROM jsonb_array_elements(p_spans) LOOP
        IF NOT coalesce(
            pg_input_is_valid(v_span ->> 0, 'int') AND pg_input_is_valid(v_span ->> 1, 'int')
            AND (v_span ->> 2) ~ '^[A-Za-z][A-Za-z ]{0,59}$', false) THEN
            RETURN false;
        ELSIF (v_span ->> 0)::int NOT BETWEEN v_end AND 10000000 OR (v_span ->> 1)::int NOT BETWEEN 1 AND 1000000 THEN
            RETURN false;
        END IF;
        v_end := (v_span ->> 0)::bigint + (v_span ->> 1)::int;
    END LOOP;
    RETURN true;
END $$;

-- are_findings: whether this is what plan_redact takes. The kind of a secret has letters and spaces only, so that it
-- cannot be one.
CREATE OR REPLACE FUNCTION recall_private.are_findings(p_found jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_typeof(p_found) = 'array' AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(CASE jsonb_typeof(p_found) WHEN 'array' THEN p_found ELSE '[]' END) u(unit)
        CROSS JOIN LATERAL (
            SELECT jsonb_typeof(u.unit -> 'places') = 'array' AND jsonb_array_length(u.unit -> 'places') > 0 AS ok) a
        WHERE NOT coalesce(
            a.ok AND pg_input_is_valid(u.unit ->> 'id', 'bigint') AND pg_input_is_valid(u.unit ->> 'version', 'int')
            AND (u.unit ->> 'version')::int >= 0 AND u.unit ->> 'digest' ~ '^[0-9a-f]{32}$'
            AND NOT EXISTS (
                SELECT FROM jsonb_array_elements(CASE WHEN a.ok THEN u.unit -> 'places' ELSE '[]' END) p(place)
                WHERE NOT coalesce(
                    jsonb_typeof(p.place -> 'path') = 'array' AND recall_private.are_spans(p.place -> 'spans')
                    AND p.place -> 'path' ->> 0 IN ('title', 'body', 'context', 'tags', 'aliases', 'author', 'source', 'metadata',
                                                'key', 'session_id', 'links'), false)), false))
$$;

-- plan_redact (app; Plans): stores a plan to replace the secrets that a client found in what stored_texts returned, and
-- returns its id. Replaces nothing yet. p_found is an array of {id, version, digest, places}; a place is {path, spans,
-- name}: the names that lead to a text, [start, length, kind] of each secret in it, in characters, and whether the text is
-- the last of these names, of a field of the metadata. A plan has at most 1,000 memories, those that come first. p_scanned
-- is the number of texts that were read, p_complete whether they are all.
CREATE OR REPLACE FUNCTION recall.plan_redact(
    p_found jsonb, p_scanned bigint DEFAULT NULL, p_complete boolean DEFAULT true, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_plan bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now);
    IF NOT coalesce(recall_private.are_findings(p_found), false) THEN
        PERFORM recall_private.raise_invalid('The findings must be an array of {id, version, digest, places}.',
            'Let a client find them: `pgrecall plan redact`.');
    END IF;
    -- Waits for transactions that delete one of them, so that it is not planned.
    PERFORM recall_private.lock_memories(v_tenant, ARRAY(
        SELECT (f.unit ->> 'id')::bigint FROM jsonb_array_elements(p_found) f(unit)));
    v_plan := recall_private.add_plan(v_tenant, 'redact', '{}', '{}', p_now);
    INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, reason, findings)
    SELECT v_tenant, v_plan, g.id, g.place, 0, 'Secrets.', g.findings
    FROM (
        SELECT m.id, row_number() OVER (ORDER BY m.id) AS place,
               jsonb_agg(f.unit - 'id' ORDER BY (f.unit ->> 'version')::int) AS findings
        FROM jsonb_array_elements(p_found) f(unit)
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = (f.unit ->> 'id')::bigint
        GROUP BY m.id) g
    WHERE g.place <= 1000;
    UPDATE recall.plan p SET report = (
        SELECT jsonb_build_object(
            'scanned', p_scanned, 'complete', coalesce(p_complete, false)
                AND (SELECT count(DISTINCT (f.unit ->> 'id')::bigint) FROM jsonb_array_elements(p_found) f(unit)) <= 1000,
            'planned', count(DISTINCT i.memory_id), 'secrets', coalesce(sum((e.value ->> 'count')::int), 0), 'kinds', coalesce((
                SELECT jsonb_object_agg(k.kind, k.secrets) FROM (
                    SELECT s.value ->> 'kind' AS kind, sum((s.value ->> 'count')::int) AS secrets
                    FROM recall.plan_item o CROSS JOIN LATERAL jsonb_array_elements(recall_private.shown_findings(o.findings)) s
                    WHERE o.tenant = v_tenant AND o.plan_id = v_plan GROUP BY 1) k), '{}'))
        FROM recall.plan_item i CROSS JOIN LATERAL jsonb_array_elements(recall_private.shown_findings(i.findings)) e
        WHERE i.tenant = v_tenant AND i.plan_id = v_plan)
    WHERE p.tenant = v_tenant AND p.id = v_plan;
    RETURN v_plan;
END $$;

-- shown_findings: where secrets are, as people see it: {version (null: the current text), field, kind, count} of each.
CREATE OR REPLACE FUNCTION recall_private.shown_findings(p_findings jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'version', nullif(g.version, 0), 'field', g.field, 'kind', g.kind, 'count', g.secrets)
        ORDER BY g.version, g.field, g.kind), '[]')
    FROM (
        SELECT (u.unit ->> 'version')::int AS version, p.place -> 'path' ->> 0 AS field, s.span ->> 2 AS kind, count(*) AS secrets
        FROM jsonb_array_elements(p_findings) u(unit)
        CROSS JOIN LATERAL jsonb_array_elements(u.unit -> 'places') p(place)
        CROSS JOIN LATERAL jsonb_array_elements(p.place -> 'spans') s(span)
        GROUP BY 1, 2, 3) g
$$;

-- redact_plan_parts: the report and a page of the items of a redact plan, as JSON. Their titles are left out: they may
-- hold what the plan is about.
CREATE OR REPLACE FUNCTION recall_private.redact_plan_parts(p_plan recall.plan, p_limit int, p_offset int) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object('report', p_plan.report, 'items', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'id', i.memory_id, 'layer', m.layer, 'place', i.place, 'outcome', i.outcome, 'note', i.note,
            'findings', CASE WHEN i.outcome IS NULL THEN recall_private.shown_findings(i.findings) ELSE i.findings END)
            ORDER BY i.place), '[]')
        FROM recall_private.prune_items_page(p_plan, p_limit, p_offset) i
        JOIN recall.memory m ON m.tenant = i.tenant AND m.id = i.memory_id));
END $$;
