-- The tables, types and indexes of revision 0037, and the functions that columns and indexes are made with. It is never
-- changed: later revisions follow it. A test compares it with what the revisions in `earlier` make. From them it has
-- the order of the columns, the bodies of the functions to the letter, and the names of some constraints.
-- {dimensions} is the number of dimensions of embeddings; {covered} lets the index hold them, if they are few enough.

-- tenant_mark: six characters that stand for a tenant in an index that all share.
CREATE FUNCTION recall_private.tenant_mark(p_tenant text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "left"(md5(p_tenant), 6);

-- joined: words as one text; generated columns need an immutable function, and array_to_string is only stable.
CREATE FUNCTION recall_private.joined(p_words text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    RETURN array_to_string(p_words, ' '::text);

-- configuration: the text search configuration of a language.
CREATE FUNCTION recall_private.configuration(p_language text) RETURNS regconfig
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ BEGIN RETURN ('recall.' || quote_ident(p_language))::regconfig; END $$;

-- unspaced_letters: a pattern of one letter of Chinese, Japanese or Korean, which have no spaces, or particles joined to words.
CREATE FUNCTION recall_private.unspaced_letters() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '\u3005-\u3007\u3041-\u3096\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\uFF66-\uFF9F\u1100-\u11FF\u3130-\u318F\uAC00-\uD7AF\U00020000-\U0003FFFF'::text;

-- folded: a text in the form NFKC, without the signs that this form would turn into letters and digits.
CREATE FUNCTION recall_private.folded(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ BEGIN IF octet_length(p_text) = length(p_text) OR p_text IS NFKC NORMALIZED THEN RETURN p_text; END IF; RETURN normalize(translate(p_text, '™℠…¹²³⁰⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿ₀₁₂₃₄₅₆₇₈₉¼½¾⅓⅔⅛⅜⅝⅞', '                                       '), NFKC); END $$;

-- plain: a word without accents.
CREATE FUNCTION recall_private.plain(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ DECLARE v_folded text; BEGIN IF octet_length(p_text) = length(p_text) THEN RETURN p_text; END IF; v_folded := recall_private.folded(p_text); RETURN coalesce((ts_lexize(('recall.unaccent'::text)::regdictionary, v_folded))[1], v_folded); END $$;

-- spaced: a text with each run of unspaced letters replaced by its pairs of neighbours. A tsvector holds a megabyte, so of a
-- text with many such letters the first 30,000 characters are indexed.
CREATE FUNCTION recall_private.spaced(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ DECLARE v_letters text := recall_private.unspaced_letters(); BEGIN IF octet_length(p_text) = length(p_text) OR p_text !~ ('[' || v_letters || ']') THEN RETURN p_text; END IF; RETURN (SELECT string_agg(CASE WHEN r.found[1] !~ ('^[' || v_letters || ']') THEN r.found[1] ELSE coalesce((SELECT string_agg(c.letter || c.next, ' ' ORDER BY c.place) FROM (SELECT l.letter, l.place, lead(l.letter) OVER (ORDER BY l.place) AS next FROM regexp_split_to_table(r.found[1], '') WITH ORDINALITY l(letter, place)) c), r.found[1]) END, ' ' ORDER BY r.place) FROM regexp_matches(left(p_text, CASE WHEN octet_length(p_text) > 1.5 * length(p_text) THEN 30000 ELSE length(p_text) END), '[' || v_letters || ']+|[^' || v_letters || ']+', 'g') WITH ORDINALITY r(found, place)); END $$;

-- compounds: the words of a text that are joined by a slash, a dot, an underscore or the like, or by capitals.
CREATE FUNCTION recall_private.compounds(p_text text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ BEGIN IF p_text !~ '[[:alnum:]][/\\.:@#_=&][[:alnum:]]|[[:lower:]][[:upper:]]|[[:upper:]]{2}[[:lower:]]{2}' THEN RETURN '{}'; END IF; RETURN ARRAY(SELECT w.found[1] FROM regexp_matches(p_text, '[[:alnum:]/\\.:@#_=&?%+~-]+', 'g') w(found) WHERE w.found[1] ~ '[[:alnum:]][/\\.:@#_=&][[:alnum:]]|[[:lower:]][[:upper:]]|[[:upper:]]{2}[[:lower:]]{2}'); END $$;

-- compound_parts: the parts of these words that hold a letter and another character, in one text.
CREATE FUNCTION recall_private.compound_parts(p_words text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ BEGIN IF p_words = '{}' THEN RETURN ''; END IF; RETURN coalesce((SELECT string_agg(p.part, ' ') FROM regexp_split_to_table(regexp_replace(regexp_replace(array_to_string(p_words, ' '), '([[:lower:]])([[:upper:]])', '\1 \2', 'g'), '([[:upper:]])([[:upper:]][[:lower:]]{2})', '\1 \2', 'g'), '[^[:alnum:]]+') p(part) WHERE length(p.part) > 1 AND p.part ~ '[[:alpha:]]'), ''); END $$;

-- text_words: the words of a text for the words index, with the parts of compounds, and with each unspaced letter alone.
CREATE FUNCTION recall_private.text_words(p_configuration regconfig, p_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ DECLARE v_text text := recall_private.folded(p_text); v_spaced text := recall_private.spaced(v_text); v_letters text := ''; v_parts text := recall_private.compound_parts(recall_private.compounds(v_spaced)); BEGIN IF v_spaced <> v_text THEN v_letters := coalesce((SELECT string_agg(DISTINCT l.letter, ' ') FROM regexp_split_to_table(regexp_replace(v_spaced, '[^' || recall_private.unspaced_letters() || ']+', '', 'g'), '') l(letter)), ''); END IF; IF v_parts ~ '[[:alpha:]]{3}[0-9]' THEN v_parts := v_parts || coalesce((SELECT string_agg(' ' || n.found[1], '') FROM regexp_matches(v_parts, '\m([[:alpha:]]{3,})[0-9]+\M', 'g') n(found)), ''); END IF; RETURN to_tsvector(p_configuration, v_spaced || ' ' || v_parts || ' ' || v_letters); END $$;

-- body_words: text_words of a long text, piece by piece, as many as a tsvector holds.
CREATE FUNCTION recall_private.body_words(p_configuration regconfig, p_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $_$ DECLARE v_all int := length(p_text); v_next int := 1; v_length int; v_part text; v_new tsvector; v_words tsvector := ''; BEGIN IF v_all <= 30000 THEN RETURN recall_private.text_words(p_configuration, p_text); END IF; WHILE v_next <= v_all LOOP v_part := substr(p_text, v_next, 30000); v_length := length(v_part); IF v_next + v_length <= v_all THEN v_length := v_length - coalesce(length(substring(right(v_part, 1000) FROM '\s(\S*)$')), 0); END IF; v_new := recall_private.text_words(p_configuration, left(v_part, v_length)); EXIT WHEN pg_column_size(v_words) + pg_column_size(v_new) + 2 * (length(v_words) + length(v_new)) > 800000; v_words := v_words || v_new; v_next := v_next + v_length; END LOOP; RETURN v_words; END $_$;

-- tenant_words: the words of a memory, each with the mark of the tenant before it.
CREATE FUNCTION recall_private.tenant_words(p_tenant text, p_text tsvector) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$ DECLARE v_mark text := recall_private.tenant_mark(p_tenant); v_words text[] := tsvector_to_array(ts_delete(p_text, chr(1) || p_tenant)); v_joined text := array_to_string(v_words, chr(1) || v_mark); BEGIN IF octet_length(v_joined) > 2000 THEN RETURN array_to_tsvector(ARRAY(SELECT v_mark || w FROM unnest(v_words) w WHERE octet_length(w) <= 2040)); END IF; RETURN array_to_tsvector(string_to_array(v_mark || v_joined, chr(1))); END $$;

-- trigram_signature: the trigrams of a name without accents, each as one of 256 bits.
CREATE FUNCTION recall_private.trigram_signature(p_name text) RETURNS bit(256)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    AS $$ DECLARE v_bits bit(256) := 0::bit(256); v_trigram text; BEGIN FOREACH v_trigram IN ARRAY show_trgm(recall_private.plain(p_name)) LOOP v_bits := set_bit(v_bits, get_byte(decode(md5(v_trigram), 'hex'), 0), 1); END LOOP; RETURN v_bits; END $$;

-- tenant_trigrams: the trigrams of a text, each with the mark of the tenant before it, in one expression, for every word is
-- counted by it.
CREATE FUNCTION recall_private.tenant_trigrams(p_tenant text, p_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    AS $$ BEGIN RETURN array_to_tsvector(string_to_array(recall_private.tenant_mark(p_tenant) || array_to_string(show_trgm(p_text), chr(1) || recall_private.tenant_mark(p_tenant)), chr(1))); END $$;

CREATE TYPE recall.analyzed_query AS (
    words text[],
    steps text[],
    documents bigint[],
    queries tsquery[],
    idfs double precision[],
    idf_sum double precision,
    phrase tsquery,
    named_ids bigint[],
    likeness double precision[],
    whole boolean[],
    name_ranks bigint[],
    authors text[],
    body_length double precision
);

CREATE TYPE recall.evidence AS (
    semantic_rank bigint,
    lexical_rank bigint,
    similarity double precision,
    coverage double precision,
    strength double precision,
    phrase integer,
    likeness double precision,
    named_alone boolean,
    authored integer,
    cue double precision,
    cued_by bigint,
    seed bigint,
    share double precision,
    own_logit double precision,
    period double precision,
    session_coverage double precision,
    token_similarity double precision,
    typical_similarity double precision,
    speech_act text,
    question integer,
    speaker integer,
    word_trust double precision,
    asked bigint,
    lent_by_question double precision,
    directive double precision,
    no_number integer
);

CREATE TYPE recall.layer_in_force AS (
    name text,
    clock double precision,
    decay double precision,
    birth_weight double precision,
    active double precision,
    stale double precision,
    fading double precision,
    median_base double precision
);

CREATE TYPE recall.period AS (
    since timestamptz,
    until timestamptz,
    fade double precision,
    words text
);

CREATE TYPE recall.query_intent AS (
    seeks text,
    speaker text,
    about_questions boolean,
    about_past boolean,
    needs_context boolean,
    asks_number boolean,
    in_past boolean
);

CREATE TYPE recall.search_filter AS (
    layers text[],
    roles text[],
    authors text[],
    tags text[],
    sources text[],
    metadata jsonb,
    hints text[],
    since timestamptz,
    until timestamptz,
    include_archived boolean,
    include_superseded boolean,
    include_invalid boolean,
    as_of timestamptz,
    moment timestamptz,
    terms tsquery,
    archived_as_of boolean,
    superseded_as_of boolean,
    speech_acts text[],
    conversation text[]
);

CREATE TYPE recall.search_request AS (
    query text,
    queries text[],
    cues jsonb,
    session_id text,
    k integer,
    min_relevance double precision,
    profile text,
    weights jsonb,
    vitality_mode text,
    vitality_weight double precision,
    explain boolean,
    require_answer boolean
);

CREATE TYPE recall.weights AS (
    spread_weight double precision,
    spread_half_life_days double precision,
    revival_weight double precision,
    revival_rate double precision,
    revival_days double precision,
    stretch_per_link double precision,
    stretch_links double precision,
    protection_floor double precision
);

CREATE SEQUENCE recall.access_id_seq;

CREATE TABLE recall.access (
    tenant text NOT NULL,
    id bigint DEFAULT nextval('recall.access_id_seq') NOT NULL,
    memory_id bigint NOT NULL,
    kind text NOT NULL,
    weight double precision NOT NULL,
    at timestamptz NOT NULL,
    session_id text,
    recorded_at timestamptz DEFAULT now() NOT NULL,
    spread_to bigint[],
    spread_by double precision[],
    merged_from bigint,
    CONSTRAINT access_pkey PRIMARY KEY (tenant, id, recorded_at),
    CONSTRAINT access_kind_check CHECK (kind IN ('write', 'read', 'reference', 'used', 'retrieval')),
    CONSTRAINT access_weight_check CHECK (weight BETWEEN 0 AND 100)
) PARTITION BY RANGE (recorded_at);

CREATE TABLE recall.access_default PARTITION OF recall.access DEFAULT;

CREATE INDEX access_memory_idx ON recall.access (tenant, memory_id, at);
CREATE INDEX access_session_idx ON recall.access (tenant, session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX access_merged_from_idx ON recall.access (tenant, merged_from) WHERE merged_from IS NOT NULL;

CREATE TABLE recall.access_key (
    tenant text NOT NULL,
    idempotency_key text NOT NULL,
    memory_id bigint NOT NULL,
    CONSTRAINT access_key_pkey PRIMARY KEY (tenant, idempotency_key)
);

CREATE TABLE recall.access_queue (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    memory_ids bigint[] NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT access_queue_pkey PRIMARY KEY (tenant, id)
);

CREATE TABLE recall.api_key (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at timestamptz,
    read_only boolean DEFAULT false NOT NULL,
    CONSTRAINT api_key_pkey PRIMARY KEY (tenant, id)
);

CREATE UNIQUE INDEX api_key_hash_idx ON recall.api_key (hash);

CREATE TABLE recall.erasure (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    state text DEFAULT 'planned' NOT NULL,
    subject jsonb NOT NULL,
    asked_by text NOT NULL,
    created_at timestamptz NOT NULL,
    planned bigint NOT NULL,
    counts jsonb DEFAULT '{}' NOT NULL,
    report jsonb,
    digest text,
    CONSTRAINT erasure_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT erasure_state_check CHECK (state IN ('planned', 'begun', 'done')),
    CONSTRAINT erasure_report_check CHECK ((report IS NOT NULL) = (state = 'done') AND (digest IS NOT NULL) = (state = 'done'))
);

CREATE TABLE recall.floor_change (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    memory_id bigint NOT NULL,
    at timestamptz NOT NULL,
    floored boolean NOT NULL,
    CONSTRAINT floor_change_pkey PRIMARY KEY (tenant, id)
);

CREATE INDEX floor_change_memory_idx ON recall.floor_change (tenant, memory_id, at);

CREATE TABLE recall.job_run (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    job text NOT NULL,
    state text DEFAULT 'running' NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    attempt integer DEFAULT 1 NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    counts jsonb DEFAULT '{}' NOT NULL,
    error text,
    holder_pid integer,
    holder_role oid,
    holder_key bigint,
    CONSTRAINT job_run_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT job_run_state_check CHECK (state IN ('running', 'done', 'failed', 'stopped', 'abandoned')),
    CONSTRAINT job_run_finished_check CHECK ((state = 'running') = (finished_at IS NULL)),
    CONSTRAINT job_run_error_check CHECK ((state = 'failed') = (error IS NOT NULL))
);

CREATE INDEX job_run_job_idx ON recall.job_run (tenant, job, id);

CREATE TABLE recall.layer (
    tenant text NOT NULL,
    name text NOT NULL,
    metabolic_rate double precision NOT NULL,
    reading text DEFAULT 'clock' NOT NULL,
    base_decay double precision DEFAULT 0.5 NOT NULL,
    birth_weight double precision DEFAULT 1 NOT NULL,
    profile text DEFAULT 'balanced' NOT NULL,
    active double precision DEFAULT 0.6 NOT NULL,
    stale double precision DEFAULT 0.3 NOT NULL,
    fading double precision DEFAULT 0.1 NOT NULL,
    CONSTRAINT layer_pkey PRIMARY KEY (tenant, name),
    CONSTRAINT layer_rate_check CHECK (metabolic_rate BETWEEN 0.001 AND 1000),
    CONSTRAINT layer_reading_check CHECK (reading IN ('clock', 'exponent')),
    CONSTRAINT layer_decay_check CHECK (base_decay BETWEEN 0.001 AND 10),
    CONSTRAINT layer_birth_check CHECK (birth_weight BETWEEN 1 AND 100),
    CONSTRAINT layer_zones_check CHECK (1 > active AND active > stale AND stale > fading AND fading > 0)
);

CREATE TABLE recall.layer_median (
    tenant text NOT NULL,
    layer text NOT NULL,
    base double precision NOT NULL,
    computed_at timestamptz NOT NULL,
    CONSTRAINT layer_median_pkey PRIMARY KEY (tenant, layer)
);

CREATE TABLE recall.lexeme (
    tenant text NOT NULL,
    word text COLLATE "C" NOT NULL,
    documents bigint NOT NULL,
    body_length double precision,
    mean_embedding halfvec,
    mean_embedder text,
    CONSTRAINT lexeme_pkey PRIMARY KEY (tenant, word),
    CONSTRAINT lexeme_documents_check CHECK (documents >= 0),
    CONSTRAINT lexeme_mean_check CHECK ((mean_embedding IS NULL) = (mean_embedder IS NULL))
);

CREATE INDEX lexeme_trigram_idx ON recall.lexeme USING gin (recall_private.tenant_trigrams(tenant, word)) WITH (fastupdate = off);

CREATE TABLE recall.memory (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    key text,
    layer text NOT NULL,
    title text DEFAULT '' NOT NULL,
    body text NOT NULL,
    role text,
    author text,
    context text DEFAULT '' NOT NULL,
    source text,
    session_id text,
    tags text[] DEFAULT '{}' NOT NULL,
    aliases text[] DEFAULT '{}' NOT NULL,
    metadata jsonb DEFAULT '{}' NOT NULL,
    occurred_at timestamptz,
    valid_from timestamptz,
    valid_until timestamptz,
    superseded_by bigint,
    expires_at timestamptz,
    pinned boolean DEFAULT false NOT NULL,
    archived_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    happened_at timestamptz GENERATED ALWAYS AS (coalesce(occurred_at, created_at)) STORED NOT NULL,
    content_hash text GENERATED ALWAYS AS (md5(title || chr(31) || body)) STORED NOT NULL,
    embedded_with text,
    language text DEFAULT 'english' NOT NULL,
    passage_count smallint,
    search_text tsvector GENERATED ALWAYS AS (
        setweight(recall_private.text_words(recall_private.configuration(language), title || ' ' || recall_private.joined(aliases)), 'A')
        || setweight(recall_private.text_words(recall_private.configuration(language), coalesce(author, '') || ' ' || recall_private.joined(tags)), 'B')
        || setweight(ts_delete(
            recall_private.text_words('recall.simple'::regconfig, coalesce(author, '') || ' ' || recall_private.joined(tags || aliases)),
            tsvector_to_array(recall_private.text_words(recall_private.configuration(language), coalesce(author, '') || ' ' || recall_private.joined(tags || aliases)))), 'B')
        || setweight(recall_private.body_words(recall_private.configuration(language), body), 'C')
        || setweight(recall_private.text_words(recall_private.configuration(language), left(context, 10000)), 'D')
        || array_to_tsvector(ARRAY[chr(1) || tenant])
    ) STORED NOT NULL,
    speech_act text,
    act_marked boolean DEFAULT false NOT NULL,
    CONSTRAINT memory_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT memory_key_unique UNIQUE (tenant, key),
    CONSTRAINT memory_superseded_by_fkey FOREIGN KEY (tenant, superseded_by)
        REFERENCES recall.memory (tenant, id) ON DELETE SET NULL (superseded_by),
    CONSTRAINT memory_tenant_check CHECK (tenant <> '' AND tenant <> '*'),
    CONSTRAINT memory_text_check CHECK (title <> '' OR body <> ''),
    CONSTRAINT memory_length_check CHECK (length(title) <= 1000 AND length(body) <= 1000000),
    CONSTRAINT memory_role_check CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    CONSTRAINT memory_act_check CHECK (speech_act IN ('statement', 'question', 'acknowledgement', 'instruction', 'preference', 'change')),
    CONSTRAINT memory_validity_check CHECK (valid_from <= valid_until),
    CONSTRAINT memory_supersession_check CHECK (superseded_by <> id)
);

CREATE INDEX memory_happened_at_idx ON recall.memory (tenant, happened_at);
CREATE INDEX memory_source_idx ON recall.memory (tenant, source) WHERE source IS NOT NULL;
CREATE INDEX memory_state_idx ON recall.memory (tenant, id) INCLUDE (layer, pinned, archived_at);
CREATE INDEX memory_expires_at_idx ON recall.memory (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_author_idx ON recall.memory (tenant, recall_private.plain(lower(author)) COLLATE "C")
    WHERE author IS NOT NULL;
CREATE INDEX memory_superseded_by_idx ON recall.memory (tenant, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_unembedded_idx ON recall.memory (tenant, id) WHERE embedded_with IS NULL;
CREATE INDEX memory_hideable_idx ON recall.memory (tenant, id)
    WHERE superseded_by IS NOT NULL OR valid_from IS NOT NULL OR valid_until IS NOT NULL OR expires_at IS NOT NULL;
CREATE INDEX memory_archived_idx ON recall.memory (tenant, id) WHERE archived_at IS NOT NULL;
CREATE INDEX memory_unsplit_idx ON recall.memory (tenant, id)
    WHERE embedded_with IS NOT NULL AND passage_count IS NULL AND octet_length(title) + octet_length(body) > 250;
CREATE INDEX memory_passages_idx ON recall.memory (tenant, id) INCLUDE (passage_count) WHERE passage_count > 0;
CREATE INDEX memory_metadata_idx ON recall.memory USING gin (jsonb_set('{}', ARRAY[tenant], metadata) jsonb_path_ops) WITH (fastupdate = off)
    WHERE metadata <> '{}';
CREATE INDEX memory_same_words_idx ON recall.memory (tenant, hashtextextended(btrim(lower(regexp_replace(left(body, 4000), '\W+', ' ', 'g'))), 0));
CREATE INDEX memory_words_idx ON recall.memory USING gin (recall_private.tenant_words(tenant, search_text));
CREATE INDEX memory_directives_idx ON recall.memory (tenant, happened_at DESC, id)
    WHERE speech_act IN ('instruction', 'preference') AND archived_at IS NULL;
CREATE INDEX memory_without_act_idx ON recall.memory (tenant, id) WHERE speech_act IS NULL;

CREATE TABLE recall.memory_change (
    tenant text NOT NULL,
    era integer NOT NULL,
    xid bigint DEFAULT pg_current_xact_id()::text::bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    memory_id bigint,
    kind text NOT NULL,
    at timestamptz NOT NULL,
    zone text,
    other_id bigint,
    CONSTRAINT memory_change_pkey PRIMARY KEY (tenant, era, xid, id),
    CONSTRAINT memory_change_memory_check CHECK ((memory_id IS NULL) = (kind = 'expired')),
    CONSTRAINT memory_change_kind_check CHECK (length(kind) BETWEEN 1 AND 40)
);

CREATE INDEX memory_change_memory_idx ON recall.memory_change (tenant, memory_id);

CREATE TABLE recall.plan (
    tenant text CONSTRAINT prune_plan_tenant_not_null NOT NULL,
    id bigint CONSTRAINT prune_plan_id_not_null NOT NULL GENERATED ALWAYS AS IDENTITY,
    state text DEFAULT 'planned' CONSTRAINT prune_plan_state_not_null NOT NULL,
    created_at timestamptz CONSTRAINT prune_plan_created_at_not_null NOT NULL,
    applied_at timestamptz,
    undone_at timestamptz,
    options jsonb CONSTRAINT prune_plan_options_not_null NOT NULL,
    report jsonb CONSTRAINT prune_plan_report_not_null NOT NULL,
    kind text NOT NULL,
    CONSTRAINT plan_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT plan_kind_check CHECK (kind IN ('prune', 'dedupe', 'import')),
    CONSTRAINT plan_state_check CHECK (state IN ('planned', 'applied', 'undone')),
    CONSTRAINT plan_applied_check CHECK ((applied_at IS NULL) = (state = 'planned')),
    CONSTRAINT plan_undone_check CHECK ((undone_at IS NOT NULL) = (state = 'undone'))
);

CREATE TABLE recall.relevance_model (
    tenant text NOT NULL,
    embedder text NOT NULL,
    profile text NOT NULL,
    intercept double precision NOT NULL,
    similarity double precision NOT NULL,
    no_similarity double precision NOT NULL,
    coverage double precision NOT NULL,
    information double precision NOT NULL,
    name double precision NOT NULL,
    author double precision NOT NULL,
    fitted_on text NOT NULL,
    phrase double precision DEFAULT 0 NOT NULL,
    cue double precision DEFAULT 0 NOT NULL,
    graph double precision DEFAULT 0 NOT NULL,
    form text DEFAULT 'logistic' NOT NULL,
    vitality_weight double precision,
    vitality_mode text,
    token_similarity double precision DEFAULT 0 NOT NULL,
    no_token_similarity double precision DEFAULT 0 NOT NULL,
    session_coverage double precision DEFAULT 0 NOT NULL,
    period double precision DEFAULT 0 NOT NULL,
    question double precision DEFAULT 0 NOT NULL,
    speaker double precision DEFAULT 0 NOT NULL,
    no_number double precision DEFAULT 0 NOT NULL,
    CONSTRAINT relevance_model_pkey PRIMARY KEY (tenant, embedder, profile),
    CONSTRAINT relevance_model_form_check CHECK (form IN ('logistic', 'seed', 'rrf')),
    CONSTRAINT relevance_model_weight_check CHECK (vitality_weight BETWEEN 0 AND 10),
    CONSTRAINT relevance_model_mode_check CHECK (vitality_mode IN ('odds', 'unbounded', 'multiply', 'bounded', 'off'))
);

CREATE TABLE recall.rerank_model (
    tenant text NOT NULL,
    reranker text NOT NULL,
    intercept double precision NOT NULL,
    rerank double precision NOT NULL,
    fused double precision NOT NULL,
    fitted_on text NOT NULL,
    CONSTRAINT rerank_model_pkey PRIMARY KEY (tenant, reranker)
);

CREATE TABLE recall.resident (
    tenant text NOT NULL,
    state text DEFAULT 'here' NOT NULL,
    cell bigint,
    since timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT resident_pkey PRIMARY KEY (tenant),
    CONSTRAINT resident_state_check CHECK ((state = 'here' AND cell IS NULL) OR state = 'moving' OR (state = 'gone' AND cell IS NOT NULL))
);

CREATE TABLE recall.search_log (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    session_id text,
    query text NOT NULL,
    queries text[],
    profile text NOT NULL,
    shown bigint[] NOT NULL,
    experiment bigint,
    arm text,
    arm_weight double precision,
    CONSTRAINT search_log_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT search_log_arm_check CHECK (
        num_nulls(experiment, arm, arm_weight) IN (0, 3) AND coalesce(experiment >= 1, true)
        AND coalesce(arm IN ('off', 'default', 'other'), true) AND coalesce(arm_weight BETWEEN 0 AND 10, true)
    )
);

CREATE INDEX search_log_at_idx ON recall.search_log (tenant, at);
CREATE INDEX search_log_experiment_idx ON recall.search_log (tenant, experiment, at) WHERE experiment IS NOT NULL;

CREATE TABLE recall.setting (
    tenant text NOT NULL,
    name text NOT NULL,
    value jsonb NOT NULL,
    CONSTRAINT setting_pkey PRIMARY KEY (tenant, name)
);

CREATE TABLE recall.tenant_lock (
    tenant text NOT NULL,
    purpose text NOT NULL,
    CONSTRAINT tenant_lock_pkey PRIMARY KEY (tenant, purpose)
);

CREATE TABLE recall.tenant_role (
    tenant text NOT NULL,
    role text NOT NULL,
    bound_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT tenant_role_pkey PRIMARY KEY (tenant, role),
    CONSTRAINT tenant_role_tenant_check CHECK (tenant <> '')
);

CREATE UNIQUE INDEX tenant_role_role_idx ON recall.tenant_role (role);

CREATE TABLE recall.vector_home (
    tenant text NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    CONSTRAINT vector_home_pkey PRIMARY KEY (tenant)
);

CREATE UNIQUE INDEX vector_home_number_idx ON recall.vector_home (number);

CREATE TABLE recall.vector_shared (
    tenant text NOT NULL,
    memory_id bigint NOT NULL,
    archived boolean DEFAULT false NOT NULL,
    embedding halfvec({dimensions}) NOT NULL,
    part smallint DEFAULT 0 NOT NULL,
    passage_start integer,
    passage_end integer
);

CREATE INDEX vector_shared_idx ON recall.vector_shared (tenant, archived, memory_id) {covered};
ALTER TABLE recall.vector_shared ADD CONSTRAINT vector_shared_pkey PRIMARY KEY (tenant, memory_id, part);

CREATE TABLE recall.activation (
    tenant text NOT NULL,
    memory_id bigint NOT NULL,
    n bigint NOT NULL,
    first_at double precision NOT NULL,
    t1 double precision NOT NULL,
    t2 double precision,
    t3 double precision,
    t4 double precision,
    t5 double precision,
    t6 double precision,
    t7 double precision,
    t8 double precision,
    credit double precision DEFAULT 0 NOT NULL,
    decay double precision NOT NULL,
    clock double precision NOT NULL,
    in_degree integer DEFAULT 0 NOT NULL,
    spread double precision DEFAULT 0 NOT NULL,
    spread_at double precision,
    last_linked_at double precision,
    cut_size integer DEFAULT 0 NOT NULL,
    protected boolean DEFAULT false NOT NULL,
    vitality double precision,
    computed_at timestamptz,
    folded_until timestamptz NOT NULL,
    sessions double precision DEFAULT 0 NOT NULL,
    sessions_at double precision,
    zone text,
    CONSTRAINT activation_pkey PRIMARY KEY (tenant, memory_id),
    CONSTRAINT activation_memory_fkey FOREIGN KEY (tenant, memory_id)
        REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT activation_count_check CHECK (n >= 1),
    CONSTRAINT activation_decay_check CHECK (decay BETWEEN 0.0001 AND 10),
    CONSTRAINT activation_clock_check CHECK (clock BETWEEN 0.001 AND 1000),
    CONSTRAINT activation_spread_check CHECK (spread BETWEEN 0 AND 1),
    CONSTRAINT activation_credit_check CHECK (credit >= 0 AND credit < 1),
    CONSTRAINT activation_degree_check CHECK (in_degree >= 0),
    CONSTRAINT activation_zone_check CHECK (zone IN ('active', 'stale', 'fading', 'dormant'))
) WITH (fillfactor = 45);

CREATE INDEX activation_cut_idx ON recall.activation (tenant, memory_id) INCLUDE (cut_size, protected)
    WHERE cut_size <> 0 OR protected;

CREATE TYPE recall.gathered AS (
    ids bigint[],
    near bigint[],
    similarities double precision[],
    far bigint[],
    far_similarities double precision[],
    held bigint[],
    strengths double precision[],
    named bigint[],
    linked bigint[],
    seeds bigint[],
    shares double precision[],
    questions bigint[],
    answers bigint[],
    past recall.activation[],
    typical double precision,
    trust double precision
);

CREATE TABLE recall.archival (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    memory_id bigint NOT NULL,
    archived_at timestamptz NOT NULL,
    reason text NOT NULL,
    plan_id bigint,
    restored_at timestamptz,
    CONSTRAINT archival_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT archival_memory_fkey FOREIGN KEY (tenant, memory_id) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT archival_reason_check CHECK (reason IN ('forgotten', 'pruned', 'expired', 'merged')),
    CONSTRAINT archival_plan_check CHECK ((plan_id IS NOT NULL) = (reason IN ('pruned', 'merged')))
);

CREATE UNIQUE INDEX archival_current_idx ON recall.archival (tenant, memory_id) WHERE restored_at IS NULL;
CREATE INDEX archival_memory_idx ON recall.archival (tenant, memory_id);

CREATE TABLE recall.compared (
    tenant text NOT NULL,
    memory_id bigint NOT NULL,
    content_hash text NOT NULL,
    embedded boolean NOT NULL,
    min_similarity double precision NOT NULL,
    words integer NOT NULL,
    CONSTRAINT compared_pkey PRIMARY KEY (tenant, memory_id),
    CONSTRAINT compared_memory_fkey FOREIGN KEY (tenant, memory_id) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE
);

CREATE TABLE recall.duplicate_pair (
    tenant text NOT NULL,
    src bigint NOT NULL,
    dst bigint NOT NULL,
    verdict text NOT NULL,
    reason text NOT NULL,
    similarity double precision,
    src_words integer NOT NULL,
    dst_words integer NOT NULL,
    CONSTRAINT duplicate_pair_pkey PRIMARY KEY (tenant, src, dst),
    CONSTRAINT duplicate_pair_src_fkey FOREIGN KEY (tenant, src) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT duplicate_pair_dst_fkey FOREIGN KEY (tenant, dst) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT duplicate_pair_order_check CHECK (src < dst),
    CONSTRAINT duplicate_pair_verdict_check CHECK (verdict IN ('same', 'contradicts'))
);

CREATE INDEX duplicate_pair_dst_idx ON recall.duplicate_pair (tenant, dst);

CREATE TABLE recall.erasure_item (
    tenant text NOT NULL,
    erasure_id bigint NOT NULL,
    memory_id bigint NOT NULL,
    CONSTRAINT erasure_item_pkey PRIMARY KEY (tenant, erasure_id, memory_id),
    CONSTRAINT erasure_item_erasure_fkey FOREIGN KEY (tenant, erasure_id)
        REFERENCES recall.erasure (tenant, id) ON DELETE CASCADE,
    CONSTRAINT erasure_item_memory_fkey FOREIGN KEY (tenant, memory_id)
        REFERENCES recall.memory (tenant, id) ON DELETE CASCADE
);

CREATE INDEX erasure_item_memory_idx ON recall.erasure_item (tenant, memory_id);

CREATE TABLE recall.judgement (
    tenant text NOT NULL,
    search_id bigint NOT NULL,
    memory_id bigint NOT NULL,
    verdict text NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT judgement_pkey PRIMARY KEY (tenant, search_id, memory_id),
    CONSTRAINT judgement_search_fkey FOREIGN KEY (tenant, search_id)
        REFERENCES recall.search_log (tenant, id) ON DELETE CASCADE,
    CONSTRAINT judgement_memory_fkey FOREIGN KEY (tenant, memory_id) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT judgement_verdict_check CHECK (verdict IN ('used', 'rejected'))
);

CREATE INDEX judgement_memory_idx ON recall.judgement (tenant, memory_id);

CREATE TABLE recall.link (
    tenant text NOT NULL,
    src bigint NOT NULL,
    dst bigint NOT NULL,
    relation text NOT NULL,
    weight double precision DEFAULT 1 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    drafted boolean DEFAULT false NOT NULL,
    strengthened_at timestamptz,
    merged_from bigint,
    CONSTRAINT link_pkey PRIMARY KEY (tenant, src, dst, relation),
    CONSTRAINT link_src_fkey FOREIGN KEY (tenant, src) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT link_dst_fkey FOREIGN KEY (tenant, dst) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT link_self_check CHECK (src <> dst),
    CONSTRAINT link_weight_check CHECK (weight > 0 AND weight <= 100),
    CONSTRAINT link_relation_check CHECK (relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts', 'derived_from', 'supersedes', 'co_access'))
);

CREATE INDEX link_dst_idx ON recall.link (tenant, dst);
CREATE INDEX link_contradicts_src_idx ON recall.link (tenant, src, dst) WHERE relation = 'contradicts';
CREATE INDEX link_contradicts_dst_idx ON recall.link (tenant, dst, src) WHERE relation = 'contradicts';
CREATE INDEX link_merged_from_idx ON recall.link (tenant, merged_from) WHERE merged_from IS NOT NULL;
CREATE INDEX link_next_dst_idx ON recall.link (tenant, dst, src) WHERE relation = 'next';
CREATE INDEX link_derived_idx ON recall.link (tenant, src) WHERE relation = 'derived_from';

CREATE TABLE recall.link_history (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    src bigint NOT NULL,
    dst bigint NOT NULL,
    relation text NOT NULL,
    created_at timestamptz NOT NULL,
    removed_at timestamptz NOT NULL,
    CONSTRAINT link_history_pkey PRIMARY KEY (tenant, id),
    CONSTRAINT link_history_src_fkey FOREIGN KEY (tenant, src) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT link_history_dst_fkey FOREIGN KEY (tenant, dst) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE
);

CREATE INDEX link_history_src_idx ON recall.link_history (tenant, src);
CREATE INDEX link_history_dst_idx ON recall.link_history (tenant, dst);

CREATE TABLE recall.memory_version (
    tenant text NOT NULL,
    memory_id bigint NOT NULL,
    number integer NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    role text,
    author text,
    tags text[] DEFAULT '{}' NOT NULL,
    aliases text[] DEFAULT '{}' NOT NULL,
    metadata jsonb DEFAULT '{}' NOT NULL,
    occurred_at timestamptz,
    valid_from timestamptz,
    valid_until timestamptz,
    written_at timestamptz NOT NULL,
    written_by text,
    written_through text,
    replaced_at timestamptz NOT NULL,
    replaced_by text NOT NULL,
    replaced_through text NOT NULL,
    CONSTRAINT memory_version_pkey PRIMARY KEY (tenant, memory_id, number),
    CONSTRAINT memory_version_memory_fkey FOREIGN KEY (tenant, memory_id)
        REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT memory_version_number_check CHECK (number >= 1),
    CONSTRAINT memory_version_text_check CHECK (title <> '' OR body <> ''),
    CONSTRAINT memory_version_length_check CHECK (length(title) <= 1000 AND length(body) <= 1000000),
    CONSTRAINT memory_version_role_check CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    CONSTRAINT memory_version_validity_check CHECK (valid_from <= valid_until),
    CONSTRAINT memory_version_times_check CHECK (written_at <= replaced_at)
);

ALTER TABLE recall.memory_version ALTER COLUMN title SET STATISTICS 0;
ALTER TABLE recall.memory_version ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE recall.memory_version ALTER COLUMN author SET STATISTICS 0;
ALTER TABLE recall.memory_version ALTER COLUMN tags SET STATISTICS 0;
ALTER TABLE recall.memory_version ALTER COLUMN aliases SET STATISTICS 0;
ALTER TABLE recall.memory_version ALTER COLUMN metadata SET STATISTICS 0;

CREATE TABLE recall.name (
    tenant text NOT NULL,
    name text NOT NULL,
    memory_id bigint NOT NULL,
    entity boolean NOT NULL,
    plain text GENERATED ALWAYS AS (recall_private.plain(name)) STORED NOT NULL,
    signature bit(256) GENERATED ALWAYS AS (recall_private.trigram_signature(name)) STORED NOT NULL,
    CONSTRAINT name_pkey PRIMARY KEY (tenant, name, memory_id),
    CONSTRAINT name_memory_fkey FOREIGN KEY (tenant, memory_id) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE
);

CREATE INDEX name_memory_idx ON recall.name (tenant, memory_id);
CREATE INDEX name_signature_idx ON recall.name (tenant) INCLUDE (signature, memory_id) WHERE entity;
CREATE INDEX name_plain_idx ON recall.name (tenant, plain, entity);

CREATE TABLE recall.page_session (
    tenant text NOT NULL,
    digest bytea NOT NULL,
    key_id bigint NOT NULL,
    ends_at timestamptz NOT NULL,
    CONSTRAINT page_session_pkey PRIMARY KEY (tenant, digest),
    CONSTRAINT page_session_key_fkey FOREIGN KEY (tenant, key_id) REFERENCES recall.api_key (tenant, id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX page_session_digest_idx ON recall.page_session (digest);
CREATE INDEX page_session_key_idx ON recall.page_session (tenant, key_id, ends_at);

CREATE TABLE recall.pending_link (
    tenant text NOT NULL,
    src bigint NOT NULL,
    target text NOT NULL,
    relation text NOT NULL,
    weight double precision DEFAULT 1 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pending_link_pkey PRIMARY KEY (tenant, src, target, relation),
    CONSTRAINT pending_link_src_fkey FOREIGN KEY (tenant, src) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT pending_link_weight_check CHECK (weight > 0 AND weight <= 100),
    CONSTRAINT pending_link_relation_check CHECK (relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts', 'derived_from', 'supersedes', 'co_access')),
    CONSTRAINT pending_link_target_check CHECK (length(target) BETWEEN 1 AND 1000)
);

CREATE INDEX pending_link_target_idx ON recall.pending_link (tenant, lower(target));
CREATE INDEX pending_link_derived_idx ON recall.pending_link (tenant, src) WHERE relation = 'derived_from';

CREATE TABLE recall.plan_item (
    tenant text CONSTRAINT prune_item_tenant_not_null NOT NULL,
    plan_id bigint CONSTRAINT prune_item_plan_id_not_null NOT NULL,
    memory_id bigint CONSTRAINT prune_item_memory_id_not_null NOT NULL,
    place integer CONSTRAINT prune_item_place_not_null NOT NULL,
    vitality double precision CONSTRAINT prune_item_vitality_not_null NOT NULL,
    terms jsonb,
    reason text CONSTRAINT prune_item_reason_not_null NOT NULL,
    impact jsonb,
    outcome text,
    note text,
    content_hash text,
    keeper boolean,
    similarity double precision,
    added_tags text[],
    added_aliases text[],
    updated_before timestamptz,
    folded_before timestamptz,
    sessions_before double precision,
    sessions_at_before double precision,
    before jsonb,
    CONSTRAINT plan_item_pkey PRIMARY KEY (tenant, plan_id, memory_id),
    CONSTRAINT plan_item_plan_fkey FOREIGN KEY (tenant, plan_id) REFERENCES recall.plan (tenant, id) ON DELETE CASCADE,
    CONSTRAINT plan_item_memory_fkey FOREIGN KEY (tenant, memory_id) REFERENCES recall.memory (tenant, id) ON DELETE CASCADE,
    CONSTRAINT plan_item_outcome_check CHECK (outcome IN ('archived', 'kept', 'merged', 'skipped', 'created', 'changed')),
    CONSTRAINT plan_item_note_check CHECK ((note IS NOT NULL) = (outcome = 'skipped')),
    CONSTRAINT plan_item_kind_check CHECK (
        num_nulls(terms, impact) = CASE WHEN num_nonnulls(keeper, before) = 0 THEN 0 ELSE 2 END
    )
);

CREATE INDEX plan_item_memory_idx ON recall.plan_item (tenant, memory_id);

CREATE TABLE recall.token_signs (
    tenant text NOT NULL,
    memory_id bigint NOT NULL,
    model text NOT NULL,
    signs bit varying[] NOT NULL,
    CONSTRAINT token_signs_pkey PRIMARY KEY (tenant, memory_id),
    CONSTRAINT token_signs_memory_fkey FOREIGN KEY (tenant, memory_id)
        REFERENCES recall.memory (tenant, id) ON DELETE CASCADE
);

ALTER INDEX recall.lexeme_trigram_idx ALTER COLUMN 1 SET STATISTICS 0;

ALTER INDEX recall.memory_metadata_idx ALTER COLUMN 1 SET STATISTICS 0;

ALTER INDEX recall.memory_words_idx ALTER COLUMN 1 SET STATISTICS 0;

-- Locks that all tenants share, until one has locks of its own.
INSERT INTO recall.tenant_lock (tenant, purpose)
SELECT '*', p.purpose || ' ' || n FROM unnest(ARRAY['rules', 'vectors']) p(purpose), generate_series(0, 63) n;

-- The first era of the log of changes. Begun here, for the first writer of an era makes all others wait.
INSERT INTO recall.setting (tenant, name, value)
SELECT '*', 'changes.era', jsonb_build_object(
    'era', 1, 'server', c.system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8))
FROM pg_control_system() c;
