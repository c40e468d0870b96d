-- Erasure: deletes the memories of a plan in batches, each in its own transaction, and reports the result.

-- apply_erasure (app; Erasures): deletes up to p_limit memories of an erasure with everything about them, and the
-- logged searches that showed one of them. After the last memory it finishes the erasure. Returns the document of
-- get_erasure. Call it until `state` is done. After an interruption it continues where it stopped; for a finished
-- erasure it returns the report. Memories that no longer belong to the subject are left out. p_signed_by names the
-- person who is responsible for it.
CREATE OR REPLACE FUNCTION recall.apply_erasure(
    p_id bigint, p_signed_by text, p_limit int DEFAULT 500, p_now timestamptz DEFAULT now()
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_person text := recall_private.require_person(p_signed_by, 'signs');
    v_erasure recall.erasure;
    v_batch bigint[];
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_between(p_limit, 1, 10000, 'p_limit');
    PERFORM FROM recall.erasure e WHERE e.tenant = v_tenant AND e.id = p_id FOR UPDATE;
    v_erasure := recall_private.require_erasure(v_tenant, p_id);
    IF v_erasure.state <> 'done' THEN
        v_batch := ARRAY(
            SELECT i.memory_id FROM recall.erasure_item i
            WHERE i.tenant = v_tenant AND i.erasure_id = p_id ORDER BY i.memory_id LIMIT p_limit);
        UPDATE recall.erasure e
        SET state = 'begun', counts = recall_private.added_counts(e.counts, recall_private.erase_batch(v_erasure, v_batch, p_now))
        WHERE e.tenant = v_tenant AND e.id = p_id;
        IF NOT EXISTS (SELECT FROM recall.erasure_item i WHERE i.tenant = v_tenant AND i.erasure_id = p_id) THEN
            PERFORM recall_private.finish_erasure(v_tenant, p_id, v_person, p_now);
        END IF;
    END IF;
    RETURN recall.get_erasure(p_id, 0);
END $$;

-- erase_batch: deletes these memories of an erasure and returns the number of deleted rows by table. Raises an error if a
-- row about one of them remains, except for rows that running searches have just logged.
CREATE OR REPLACE FUNCTION recall_private.erase_batch(p_erasure recall.erasure, p_batch bigint[], p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_tenant text := p_erasure.tenant;
    v_ids bigint[];
    v_counts jsonb;
    v_left jsonb;
    v_searches bigint[];
    v_words bigint := recall_private.word_count(p_erasure.tenant);
BEGIN
    PERFORM recall_private.lock_for_deletion(v_tenant, p_batch);  -- none of them changes from here on
    v_ids := ARRAY(SELECT recall_private.memories_of_subject(v_tenant, p_erasure.subject, p_batch));
    DELETE FROM recall.erasure_item i
    WHERE i.tenant = v_tenant AND i.erasure_id = p_erasure.id AND i.memory_id = ANY (p_batch) AND i.memory_id <> ALL (v_ids);
    v_counts := recall_private.count_rows_about(v_tenant, v_ids);
    v_searches := recall_private.searches_that_showed(v_tenant, v_ids);
    PERFORM recall_private.delete_memories(v_tenant, v_ids, p_now);
    -- Searches log hits without a lock, and cannot see this deletion yet. The next fold deletes such rows.
    v_left := (SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(recall_private.count_rows_about(v_tenant, v_ids)) e
               WHERE pg_partition_root(to_regclass('recall.' || quote_ident(e.key))) IS DISTINCT FROM 'recall.access'::regclass);
    IF v_left <> '{}' THEN
        RAISE EXCEPTION 'Rows about deleted memories remain in %; nothing of this batch was deleted.', v_left;
    END IF;
    v_counts := recall_private.added_counts(v_counts, recall_private.dropped_words(v_tenant, v_words));
    RETURN recall_private.added_counts(v_counts, recall_private.delete_searches(v_tenant, v_searches));
END $$;

-- word_count: how many words the document frequencies of a tenant have.
CREATE OR REPLACE FUNCTION recall_private.word_count(p_tenant text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM recall.lexeme l WHERE l.tenant = p_tenant
$$;

-- dropped_words: how many words fewer there are than p_before, as a row count by table.
CREATE OR REPLACE FUNCTION recall_private.dropped_words(p_tenant text, p_before bigint) RETURNS jsonb
LANGUAGE sql STABLE
RETURN CASE WHEN p_before > recall_private.word_count(p_tenant)
    THEN jsonb_build_object('lexeme', p_before - recall_private.word_count(p_tenant)) ELSE '{}' END;

-- searches_that_showed: the logged searches that showed one of these memories.
CREATE OR REPLACE FUNCTION recall_private.searches_that_showed(p_tenant text, p_ids bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(s.id), '{}') FROM recall.search_log s
    WHERE s.tenant = p_tenant AND s.shown && p_ids AND s.at IN (
        SELECT e.at FROM recall.access e
        WHERE e.tenant = p_tenant AND e.memory_id = ANY (p_ids) AND e.kind = 'retrieval')
$$;

-- delete_searches: deletes these logged searches and the verdicts on them, in the order of their ids. Returns the number
-- of rows by table.
CREATE OR REPLACE FUNCTION recall_private.delete_searches(p_tenant text, p_ids bigint[]) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_searches bigint;
    v_verdicts bigint;
BEGIN
    PERFORM FROM recall.search_log s WHERE s.tenant = p_tenant AND s.id = ANY (p_ids) ORDER BY s.id FOR UPDATE;
    DELETE FROM recall.judgement j WHERE j.tenant = p_tenant AND j.search_id = ANY (p_ids);
    GET DIAGNOSTICS v_verdicts = ROW_COUNT;
    DELETE FROM recall.search_log s WHERE s.tenant = p_tenant AND s.id = ANY (p_ids);
    GET DIAGNOSTICS v_searches = ROW_COUNT;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'judgement', nullif(v_verdicts, 0), 'search_log', nullif(v_searches, 0)));
END $$;

-- finish_erasure: deletes what names the subject besides its memories, recounts the words of the tenant, stores the
-- report, and replaces the subject by its digests.
CREATE OR REPLACE FUNCTION recall_private.finish_erasure(p_tenant text, p_id bigint, p_signed_by text, p_now timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_erasure recall.erasure := recall_private.require_erasure(p_tenant, p_id);
    v_counts jsonb;
    v_report jsonb;
    v_words bigint := recall_private.word_count(p_tenant);
BEGIN
    v_counts := recall_private.added_counts(v_erasure.counts, recall_private.erase_sessions(p_tenant, v_erasure.subject));
    v_counts := recall_private.added_counts(v_counts, recall_private.erase_versions(p_tenant, v_erasure.subject));
    v_counts := recall_private.added_counts(v_counts, recall_private.erase_imports(p_tenant, v_erasure.subject));
    v_counts := recall_private.added_counts(v_counts, recall_private.delete_searches(
        p_tenant, recall_private.searches_of_subject(p_tenant, v_erasure.subject)));
    PERFORM recall_private.count_lexemes(p_tenant);
    v_counts := recall_private.added_counts(v_counts, recall_private.dropped_words(p_tenant, v_words));
    PERFORM recall_private.analyze_places(p_tenant);
    UPDATE recall.erasure e SET counts = v_counts WHERE e.tenant = p_tenant AND e.id = p_id RETURNING e.* INTO v_erasure;
    v_report := recall_private.erasure_report(v_erasure, p_signed_by, p_now);
    UPDATE recall.erasure e
    SET state = 'done', subject = recall_private.hashed_subject(e.subject), report = v_report,
        digest = recall_private.report_digest(v_report)
    WHERE e.tenant = p_tenant AND e.id = p_id;
END $$;

-- erase_imports: deletes the imports of a subject's source, unless memories of others have that source. Returns the number
-- of rows by table.
CREATE OR REPLACE FUNCTION recall_private.erase_imports(p_tenant text, p_subject jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_gone bigint;
BEGIN
    DELETE FROM recall.plan p
    WHERE p.tenant = p_tenant AND p.kind = 'import' AND p.options ->> 'source' = p_subject ->> 'source'
      AND NOT EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.source = p_subject ->> 'source');
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    RETURN CASE WHEN v_gone > 0 THEN jsonb_build_object('plan', v_gone) ELSE '{}' END;
END $$;

-- erase_sessions: replaces the session id of a subject's accesses by a random one, unless memories of others have that
-- session. So accesses of one session stay together, but the session is not named. Returns the number of rows by table.
CREATE OR REPLACE FUNCTION recall_private.erase_sessions(p_tenant text, p_subject jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_session text := p_subject ->> 'session';
    v_changed jsonb;
BEGIN
    IF v_session IS NULL OR EXISTS (
        SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.session_id = v_session) THEN
        RETURN '{}';
    END IF;
    WITH changed AS (
        UPDATE recall.access e SET session_id = 'erased ' || r.name
        FROM (SELECT gen_random_uuid() AS name OFFSET 0) r
        WHERE e.tenant = p_tenant AND e.session_id = v_session
        RETURNING e.tableoid::regclass AS place
    )
    SELECT jsonb_object_agg(c.place, c.rows) INTO v_changed
    FROM (SELECT split_part(k.place::text, '.', 2) AS place, count(*) AS rows FROM changed k GROUP BY 1) c;
    RETURN coalesce(v_changed, '{}');
END $$;

-- searches_of_subject: the logged searches of a subject's session, and those whose queries name the author, tag, source
-- or key in three characters or more.
CREATE OR REPLACE FUNCTION recall_private.searches_of_subject(p_tenant text, p_subject jsonb) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(s.id), '{}') FROM recall.search_log s
    WHERE s.tenant = p_tenant AND (s.session_id = p_subject ->> 'session' OR EXISTS (
        SELECT FROM jsonb_each_text(p_subject) e
        CROSS JOIN LATERAL (SELECT lower(btrim(CASE e.key WHEN 'key' THEN replace(e.value, '*', ' ') ELSE e.value END)) AS word) w
        WHERE e.key <> 'session' AND length(w.word) >= 3
          AND position(w.word IN lower(concat_ws(' ', s.query, array_to_string(s.queries, ' ')))) > 0))
$$;

-- analyze_places: analyzes the tables with rows about memories and the logs, because their statistics contain texts of
-- deleted rows. A table that another transaction has analyzed, and holds, is skipped; not_analyzed names it. The statistics
-- are those of all tenants, so their size does not follow the caller's setting.
CREATE OR REPLACE FUNCTION recall_private.analyze_places(p_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET default_statistics_target = 100 AS $$
DECLARE
    v_place regclass;
BEGIN
    FOR v_place IN SELECT recall_private.sampled_places(p_tenant) LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', v_place);
    END LOOP;
END $$;

-- sampled_places: the tables whose statistics contain texts of a tenant's memories.
CREATE OR REPLACE FUNCTION recall_private.sampled_places(p_tenant text) RETURNS SETOF regclass
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT p.relation FROM recall_private.places_of_memories(p_tenant) p
    UNION ALL SELECT u::regclass FROM unnest(ARRAY['recall.access', 'recall.search_log', 'recall.lexeme', 'recall.plan']) u
$$;

-- not_analyzed: those of these tables that this transaction has not analyzed, by name: it holds the lock of each that it has.
-- NULL if there are none.
CREATE OR REPLACE FUNCTION recall_private.not_analyzed(p_places regclass[]) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT string_agg('recall.' || c.relname, ', ' ORDER BY c.relname)
    FROM pg_class c
    WHERE c.oid = ANY (p_places)
      AND NOT EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.relation = c.oid AND l.granted
                        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                        AND l.mode = 'ShareUpdateExclusiveLock')
$$;
