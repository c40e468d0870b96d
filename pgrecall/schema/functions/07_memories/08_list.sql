-- Lists of memories, a page at a time, and the sentences of directives.

-- json_escapes: by how many bytes a text is longer as JSON, where a control character takes six.
CREATE OR REPLACE FUNCTION recall_private.json_escapes(p_text text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN octet_length(to_json(p_text)::text) - octet_length(p_text) - 2;

-- list_memories (reader; Remember): up to p_limit (1 to 1,000) memories of this tenant that pass p_filter, a JSON
-- object with the filters of recall.search except `as_of`. The newest come first or, with p_order `vitality`, those
-- with the highest vitality at p_now. The `cursor` of the last row, given as p_after, continues the list after that
-- row; a list by vitality keeps the moment of its first page. Archived, superseded and invalid memories are left out
-- unless the filter includes them. With p_session_id, only memories of that session. A page ends before p_limit where
-- its texts and metadata would exceed p_max_bytes (NULL: no limit), but has at least one memory if there is one; after
-- the last memory it is empty. `directive` is the sentence that makes a memory a directive. Listing does not count as
-- an access.
CREATE OR REPLACE FUNCTION recall.list_memories(
    p_filter jsonb DEFAULT '{}', p_order text DEFAULT 'newest', p_after text DEFAULT NULL, p_limit int DEFAULT 50,
    p_now timestamptz DEFAULT now(), p_max_bytes bigint DEFAULT 16000000, p_session_id text DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, source text, tags text[],
    metadata jsonb, happened_at timestamptz, pinned boolean, superseded_by bigint, archived_at timestamptz,
    vitality double precision, zone text, cursor text, speech_act text, session_id text, directive text
)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_filter recall.search_filter := recall_private.read_filter(p_filter);
    v_weights recall.weights := recall_private.vitality_weights(v_tenant);
    v_session text := CASE WHEN p_session_id IS NULL THEN '' ELSE ' AND m.session_id = $6' END;
    v_layers recall.layer_in_force[] := ARRAY(SELECT l FROM recall_private.effective_layers(v_tenant) l);
    v_after record;
    v_moment timestamptz;
    v_ids bigint[];
    v_sums double precision[];
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 1000, 'p_limit');
    IF p_order IS NULL OR p_order NOT IN ('newest', 'vitality') THEN
        PERFORM recall_private.raise_invalid(
            format('The order %s is unknown.', coalesce(quote_literal(left(p_order, 100)), 'NULL')),
            'Use newest or vitality.');
    ELSIF v_filter.as_of IS NOT NULL THEN
        PERFORM recall_private.raise_invalid('A list does not take as_of.', 'Search with as_of to see what was known then.');
    END IF;
    v_after := recall_private.read_cursor(p_after, p_order);
    v_moment := recall_private.require_moment(coalesce(v_after.moment, p_now));
    v_filter := recall_private.checked_filter(v_tenant, v_filter, v_moment);
    IF p_order = 'newest' THEN
        EXECUTE format(
            'SELECT array_agg(x.id) FROM (SELECT m.id FROM recall.memory m '
            'WHERE m.tenant = (SELECT $2) AND m.happened_at >= coalesce(($3).since, ''-infinity'') '
            'AND m.happened_at <= least(coalesce(($3).until, ''infinity''), $4) '
            'AND (m.happened_at < $4 OR m.id < $5) AND recall_private.passes_filter(m, $3)%s '
            'ORDER BY m.happened_at DESC, m.id DESC LIMIT %s) x',
            recall_private.index_conditions(v_filter) || v_session, p_limit)
        INTO v_ids
        USING NULL, v_tenant, v_filter, coalesce(v_after.happened_at, 'infinity'), coalesce(v_after.id, 0),
              p_session_id;
    ELSE
        EXECUTE format(
            'SELECT array_agg(x.id), array_agg(x.activation) FROM (SELECT m.id, s.activation FROM recall.memory m '
            'JOIN recall.activation a ON a.tenant = (SELECT $2) AND a.memory_id = m.id '
            'CROSS JOIN LATERAL (SELECT recall_private.activation_sum(a, $1, recall_private.epoch(($3).moment)) AS activation OFFSET 0) s '
            'WHERE m.tenant = (SELECT $2) AND recall_private.passes_filter(m, $3)%s '
            'AND (s.activation < $4 OR s.activation = $4 AND m.id > $5) '
            'ORDER BY s.activation DESC, m.id LIMIT %s) x',
            recall_private.index_conditions(v_filter) || v_session, p_limit)
        INTO v_ids, v_sums
        USING v_weights, v_tenant, v_filter, coalesce(v_after.activation, 'infinity'), coalesce(v_after.id, 0),
              p_session_id;
    END IF;
    RETURN QUERY
    SELECT m.id, m.key, m.layer, m.title, m.body, m.role, m.author, m.source, m.tags, m.metadata, m.happened_at,
           m.pinned, m.superseded_by, m.archived_at, s.activation / (1 + s.activation),
           recall_private.zone_of(recall_private.retention_of(
               s.activation / (1 + s.activation), a.protected OR m.pinned, v_weights), l),
           CASE p_order WHEN 'newest' THEN jsonb_build_array('newest', m.id, m.happened_at)
                        ELSE jsonb_build_array('vitality', m.id, s.activation, v_moment) END::text,
           m.speech_act, m.session_id, CASE WHEN recall_private.is_directive(m.speech_act)
               THEN recall_private.directive_sentence(m.body, m.speech_act) END
    FROM (
        SELECT y.*, y.bytes + sum(CASE WHEN y.bytes <= p_max_bytes THEN recall_private.json_escapes(y.body) END)
                              OVER (ORDER BY y.place) AS written
        FROM (
            SELECT u.id, u.activation, u.place, o.body,
                   sum(octet_length(o.body) + octet_length(o.metadata::text)
                       + octet_length(concat(o.key, o.title, o.author, o.source, o.tags, o.session_id)))
                       OVER (ORDER BY u.place) AS bytes
            FROM unnest(v_ids, v_sums) WITH ORDINALITY u(id, activation, place)
            JOIN recall.memory o ON o.tenant = v_tenant AND o.id = u.id) y) u
    JOIN recall.memory m ON m.tenant = v_tenant AND m.id = u.id
    JOIN recall.activation a ON a.tenant = v_tenant AND a.memory_id = u.id
    JOIN unnest(v_layers) l ON l.name = m.layer
    CROSS JOIN LATERAL (
        SELECT coalesce(u.activation, recall_private.activation_sum(a, v_weights, recall_private.epoch(v_moment))) AS activation
        OFFSET 0) s
    WHERE u.place = 1 OR u.written <= p_max_bytes OR p_max_bytes IS NULL
    ORDER BY u.place;
END $$;

-- read_cursor: the contents of a cursor of a list in this order; NULLs for NULL. Raises an error for any other text.
CREATE OR REPLACE FUNCTION recall_private.read_cursor(
    p_cursor text, p_order text,
    OUT id bigint, OUT happened_at timestamptz, OUT activation double precision, OUT moment timestamptz
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_cursor jsonb;
BEGIN
    IF p_cursor IS NULL THEN
        RETURN;
    ELSIF pg_input_is_valid(p_cursor, 'jsonb') THEN
        v_cursor := p_cursor;
        IF v_cursor ->> 0 = p_order AND pg_input_is_valid(v_cursor ->> 1, 'bigint') THEN
            id := v_cursor ->> 1;
            IF p_order = 'newest' AND pg_input_is_valid(v_cursor ->> 2, 'timestamptz') THEN
                happened_at := v_cursor ->> 2;
                RETURN;
            ELSIF pg_input_is_valid(v_cursor ->> 2, 'double precision')
                  AND pg_input_is_valid(v_cursor ->> 3, 'timestamptz') THEN
                activation := v_cursor ->> 2;
                moment := v_cursor ->> 3;
                RETURN;
            END IF;
        END IF;
    END IF;
    PERFORM recall_private.raise_invalid(
        format('%L is not a cursor of a list by %s.', left(p_cursor, 100), p_order),
        'Give the cursor of the last memory of the previous page, with the same order.');
END $$;

-- directives (reader; Search): for each of these memories that is a directive, the sentence that makes it one.
CREATE OR REPLACE FUNCTION recall.directives(p_ids bigint[]) RETURNS TABLE (id bigint, sentence text)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();  -- refuses callers, which a plan that reads nothing would not
BEGIN
    RETURN QUERY
    SELECT m.id, recall_private.directive_sentence(m.body, m.speech_act) FROM recall.memory m
    WHERE m.tenant = v_tenant AND m.id = ANY (p_ids) AND recall_private.is_directive(m.speech_act);
END $$;
