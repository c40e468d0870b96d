-- Near-duplicates: the memory that a new one repeats, with the same or nearly the same text.

-- holds_draft: whether a memory has the text and all other fields of a draft, so that storing the draft would add
-- nothing.
CREATE OR REPLACE FUNCTION recall_private.holds_draft(m recall.memory, d recall.memory) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN m.title = d.title AND m.body = d.body AND m.layer = d.layer
   AND (d.role IS NULL OR m.role = d.role) AND (d.author IS NULL OR m.author = d.author)
   AND (d.source IS NULL OR m.source = d.source) AND (d.session_id IS NULL OR m.session_id = d.session_id)
   AND (d.context = '' OR m.context = d.context) AND m.tags @> d.tags AND m.aliases @> d.aliases
   AND m.metadata @> d.metadata AND (m.pinned OR NOT d.pinned)
   AND (d.occurred_at IS NULL OR m.occurred_at = d.occurred_at)
   AND (d.valid_from IS NULL OR m.valid_from = d.valid_from)
   AND (d.valid_until IS NULL OR m.valid_until = d.valid_until)
   AND (d.expires_at IS NULL OR m.expires_at = d.expires_at);

-- stated_numbers: the numbers of a text, sorted, with the sign and one decimal point.
CREATE OR REPLACE FUNCTION recall_private.stated_numbers(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT translate(n[1], ',', '.')
             FROM regexp_matches(p_text, '(?:(?<!\w)[-\u2212])?\d+(?:[.,:/-]\d+)*', 'g') n ORDER BY 1);

-- negation_count: how many negations of English, German and Spanish a text has.
CREATE OR REPLACE FUNCTION recall_private.negation_count(p_text text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_count(p_text,
    '\m(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|nicht|kein\w*|nie|niemals'
    '|niemand|nichts|ohne|weder|nunca|jamás|nadie|nada|ning[uú]n\w*|sin|tampoco)\M|n[''\u2019]t\M', 1, 'i');

-- states_otherwise: whether two texts, however near in meaning, state different things, judged by their letters: other
-- numbers, more or fewer negations (of English, German and Spanish), less than half of their words in common, or the
-- same sentence of up to 40 words with other words in some places (`on Tuesday`, `on Thursday`; `from A to B`, `from B
-- to A`; words swapped with their neighbours are a rewording). A synonym in such a place keeps them apart too. It reads
-- the first 8,000 characters. What may be merged is another question (compare_texts): it keeps rewordings in another order
-- apart, which are worth a hint here, and takes ten to twenty times as long.
CREATE OR REPLACE FUNCTION recall_private.states_otherwise(p_text text, p_other text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_text text := left(p_text, 8000);
    v_other text := left(p_other, 8000);
    v_words text[];
    v_others text[];
    v_common int;
    v_longer int;
    v_places int[];
BEGIN
    IF v_text = v_other THEN
        RETURN false;
    ELSIF recall_private.negation_count(v_text) <> recall_private.negation_count(v_other)
       OR recall_private.stated_numbers(v_text) <> recall_private.stated_numbers(v_other) THEN
        RETURN true;
    END IF;
    v_words := regexp_split_to_array(btrim(lower(regexp_replace(v_text, '\W+', ' ', 'g'))), ' ');
    v_others := regexp_split_to_array(btrim(lower(regexp_replace(v_other, '\W+', ' ', 'g'))), ' ');
    SELECT count(*) FILTER (WHERE b.word IS NOT NULL AND a.word IS NOT NULL), greatest(count(a.word), count(b.word))
    INTO v_common, v_longer
    FROM (SELECT DISTINCT unnest(v_words)) a(word) FULL JOIN (SELECT DISTINCT unnest(v_others)) b(word) USING (word);
    IF v_common * 2 < v_longer THEN
        RETURN true;
    ELSIF cardinality(v_words) <> cardinality(v_others) OR cardinality(v_words) > 40 THEN
        RETURN false;
    END IF;
    v_places := ARRAY(SELECT i FROM generate_subscripts(v_words, 1) i WHERE v_words[i] <> v_others[i] ORDER BY i);
    RETURN cardinality(v_places) BETWEEN 1 AND cardinality(v_words) / 2 AND NOT (
        v_places[cardinality(v_places)] - v_places[1] + 1 = cardinality(v_places)
        AND ARRAY(SELECT v_words[i] FROM unnest(v_places) i ORDER BY 1)
            = ARRAY(SELECT v_others[i] FROM unnest(v_places) i ORDER BY 1));
END $$;

-- similar_memory: the live memory of this tenant that a draft repeats; no row if there is none. `held` says whether it
-- has all that the draft has. It is a memory with the same words in the same order, ignoring case, punctuation and
-- space, found by an index. Otherwise it is the nearest of the ten nearest in meaning with a cosine of at least 0.95
-- that does not state otherwise. At most a hundred memories with the same words are compared.
CREATE OR REPLACE FUNCTION recall_private.similar_memory(
    p_tenant text, p_draft recall.memory, p_embedding halfvec, p_now timestamptz
) RETURNS TABLE (id bigint, key text, similarity double precision, held boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    v_text text := btrim(lower(regexp_replace(left(p_draft.body, 4000), '\W+', ' ', 'g')));
BEGIN
    IF v_text = '' THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.id, s.key, 1.0::double precision, s.held FROM (
        SELECT m.id, m.key, recall_private.holds_draft(m, p_draft) AS held, m.title = p_draft.title AND m.body = p_draft.body AS equal
        FROM recall.memory m
        WHERE m.tenant = p_tenant
          AND hashtextextended(btrim(lower(regexp_replace(left(m.body, 4000), '\W+', ' ', 'g'))), 0)
              = hashtextextended(v_text, 0)
          AND recall_private.plain_words(m.body) = recall_private.plain_words(p_draft.body)
          AND m.archived_at IS NULL AND m.superseded_by IS NULL AND m.key IS DISTINCT FROM coalesce(p_draft.key, '')
          AND NOT recall_private.states_otherwise(m.title || ' ' || m.body, p_draft.title || ' ' || p_draft.body)
          AND coalesce(m.valid_until > p_now, true) AND coalesce(m.expires_at > p_now, true)
        LIMIT 100) s
    ORDER BY s.held DESC, s.equal DESC, s.id LIMIT 1;
    IF NOT FOUND AND p_embedding IS NOT NULL THEN
        RETURN QUERY
        SELECT m.id, m.key, n.similarity, false
        FROM recall_private.semantic_arm(
            p_tenant, p_embedding, 10, recall_private.checked_filter(p_tenant, recall_private.read_filter('{}'), p_now)) a
        CROSS JOIN LATERAL unnest(a.ids, a.similarities) n(id, similarity)
        JOIN recall.memory m ON m.tenant = p_tenant AND m.id = n.id
        WHERE n.similarity >= 0.95 AND m.key IS DISTINCT FROM coalesce(p_draft.key, '')
          AND NOT recall_private.states_otherwise(m.title || ' ' || m.body, p_draft.title || ' ' || p_draft.body)
        ORDER BY n.similarity DESC, m.id LIMIT 1;
    END IF;
END $$;
