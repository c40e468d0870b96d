-- Languages: the text search configuration for a tenant's memories and queries. Each is a copy, in the schema recall, of
-- a configuration of the server. It removes accents if the extension unaccent is available.

-- removes_accents: whether accents are removed from words and names before comparison.
CREATE OR REPLACE FUNCTION recall_private.removes_accents() RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM pg_ts_dict d JOIN pg_ts_template t ON t.oid = d.dicttemplate
        WHERE d.dictnamespace = 'recall'::regnamespace AND d.dictname = 'unaccent' AND t.tmplname = 'unaccent')
$$;

-- language_in_setting: the language that is stored in this value of a setting.
CREATE OR REPLACE FUNCTION recall_private.language_in_setting(p_setting jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_setting #>> '{}', 'english');

-- language: the name of this tenant's language: its own, else the database's, else english.
CREATE OR REPLACE FUNCTION recall_private.language(p_tenant text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.language_in_setting(recall_private.setting_value(p_tenant, 'language'));
END $$;

-- languages (reader; Tenant and language): the languages available to a tenant, by name. `current` marks the language
-- of this tenant. `accents_off` says whether accents are removed, which is the same for all.
CREATE OR REPLACE FUNCTION recall.languages() RETURNS TABLE (name text, current boolean, accents_off boolean)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT c.cfgname::text, c.cfgname = x.language, recall_private.removes_accents()
    FROM pg_ts_config c CROSS JOIN (SELECT recall_private.language(recall.current_tenant()) AS language OFFSET 0) x
    WHERE c.cfgnamespace = 'recall'::regnamespace ORDER BY 1
$$;

-- text_configuration: the text search configuration of this tenant's language.
CREATE OR REPLACE FUNCTION recall_private.text_configuration(p_tenant text) RETURNS regconfig
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.configuration(recall_private.language(p_tenant));
END $$;

-- set_language (app; Tenant and language): sets this tenant's language, reindexes its memories and recounts its words.
-- Returns the number of reindexed memories. Raises an error for a language without a configuration on this server.
CREATE OR REPLACE FUNCTION recall.set_language(p_language text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_changed bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM recall.languages() l WHERE l.name = p_language) OR p_language IS NULL THEN
        PERFORM recall_private.raise_invalid(
            format('There is no language %s.', coalesce(quote_literal(left(p_language, 100)), 'NULL')),
            format('Choose one of: %s.', (SELECT string_agg(l.name, ', ') FROM recall.languages() l)));
    END IF;
    PERFORM recall_private.lock_rules(v_tenant);
    INSERT INTO recall.setting (tenant, name, value) VALUES (v_tenant, 'language', to_jsonb(p_language))
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value;
    PERFORM FROM recall.memory m WHERE m.tenant = v_tenant AND m.language <> p_language
    ORDER BY m.id FOR NO KEY UPDATE;
    UPDATE recall.memory m SET language = p_language WHERE m.tenant = v_tenant AND m.language <> p_language;
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    PERFORM recall_private.count_lexemes(v_tenant);
    RETURN v_changed;
END $$;

-- reindex_changed_words: brings stored words up to date: reindexes words and names with accents after unaccent was
-- installed, and after an upgrade from an older schema those that revision 0029 folds or splits; then recounts words.
-- Does nothing if neither has happened since the last call.
CREATE OR REPLACE FUNCTION recall_private.reindex_changed_words() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_settled jsonb := (SELECT s.value FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'schema.words');
    -- `words` is the revision that last changed how words are stored.
    v_now jsonb := jsonb_build_object('accents_off', recall_private.removes_accents(), 'words', 29);
    v_tenant text;
BEGIN
    IF v_settled = v_now THEN
        RETURN;
    ELSIF v_settled IS NOT NULL AND v_settled -> 'accents_off' IS DISTINCT FROM v_now -> 'accents_off' THEN
        UPDATE recall.memory m SET language = m.language
        WHERE octet_length(m.search_text::text) <> length(m.search_text::text);
        UPDATE recall.name n SET name = n.name WHERE octet_length(n.name) <> length(n.name);
    END IF;
    IF coalesce((v_settled ->> 'words')::int, 0) < 29 THEN
        -- Few memories have such words, so the table is read once instead of rewritten, and searches need not wait.
        UPDATE recall.memory m SET language = m.language
        FROM recall.memory o
        CROSS JOIN LATERAL (
            SELECT concat_ws(' ', o.title, o.author, o.body, o.context, recall_private.joined(o.tags || o.aliases)) AS text
            OFFSET 0) t
        WHERE m.tenant = o.tenant AND m.id = o.id
          AND (t.text ~ '[[:upper:]]{2}[[:lower:]]{2}|[[:alpha:]]{3}[0-9]' OR recall_private.folded(t.text) <> t.text);
        UPDATE recall.name n SET name = n.name WHERE recall_private.folded(n.name) <> n.name;
    END IF;
    FOR v_tenant IN SELECT DISTINCT l.tenant FROM recall.lexeme l LOOP
        PERFORM recall_private.count_lexemes(v_tenant);
    END LOOP;
    INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'schema.words', v_now)
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value;
END $$;
