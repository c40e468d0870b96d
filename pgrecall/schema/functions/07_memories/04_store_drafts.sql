-- Inserting and updating the rows of drafts.

-- default_draft: the row of a draft without any field at p_now, except its id.
CREATE OR REPLACE FUNCTION recall_private.default_draft(p_tenant text, p_language text, p_now timestamptz) RETURNS recall.memory
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_blank recall.memory;
BEGIN
    v_blank.tenant := p_tenant;
    v_blank.layer := 'knowledge';
    v_blank.title := '';
    v_blank.body := '';
    v_blank.context := '';
    v_blank.tags := '{}';
    v_blank.aliases := '{}';
    v_blank.metadata := '{}';
    v_blank.pinned := false;
    v_blank.created_at := p_now;
    v_blank.updated_at := p_now;
    v_blank.language := p_language;
    RETURN v_blank;
END $$;

-- is_written_here: whether this transaction, or one of its subtransactions, wrote a visible row.
CREATE OR REPLACE FUNCTION recall_private.is_written_here(p_xmin xid) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce(pg_current_xact_id_if_assigned() IS NOT NULL AND age(p_xmin) <= 0 AND pg_xact_status(
        (pg_current_xact_id_if_assigned()::text::bigint - least(age(p_xmin), 0))::text::xid8) = 'in progress', false);
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;  -- a row keeps its number for ever, and 2^31 transactions later no transaction has it yet
END $$;

-- store_drafts_with_retry: store_drafts, correct even if other transactions store the same keys. If another transaction has
-- just created or deleted one of the memories to be changed or linked, everything starts again without locks, since other
-- transactions may hold locks that come earlier in the order. Locks are given up by undoing a subtransaction. With one for
-- each call, each version of a memory that one transaction writes often would have a lock of its own that all later reads
-- decode: 1,200 writes took twice the time. So a single draft needs none where it takes no lock: it has no links, nothing
-- waits for it, and its memory is new or was last written by this transaction, which has locked it against all others. If
-- no key exists, all drafts are new and have these ids; outcomes are then NULL. With p_given, the drafts are completed
-- first, as complete_drafts says; `drafts` are those that were stored.
CREATE OR REPLACE FUNCTION recall_private.store_drafts_with_retry(
    p_tenant text, p_drafts recall.memory[], p_ids bigint[], p_keys text[], p_links jsonb[], p_given jsonb[],
    p_revive boolean, p_now timestamptz,
    OUT ids bigint[], OUT outcomes text[], OUT written bigint[], OUT rewritten bigint[], OUT locked bigint[],
    OUT drafts recall.memory[], OUT changed jsonb[], OUT stale boolean[]
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_own bigint[];
    v_waiting bigint[];
    v_stored record;
BEGIN
    LOOP
        v_own := ARRAY(SELECT k.id FROM recall_private.memories_with_keys(p_tenant, p_keys) k);
        v_waiting := recall_private.sources_waiting_for(p_tenant, p_drafts);
        IF cardinality(p_drafts) = 1 AND p_links IS NULL AND v_waiting = '{}' AND (v_own = '{}' OR EXISTS (
            SELECT FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = v_own[1] AND recall_private.is_written_here(m.xmin))) THEN
            v_stored := recall_private.lock_and_store_drafts(
                p_tenant, p_drafts, p_ids, p_keys, p_links, p_given, v_own, v_waiting, p_revive, p_now);
            EXIT WHEN NOT v_stored.overtaken;  -- else it was not new, and nothing is locked or stored
        ELSE
            BEGIN
                v_stored := recall_private.lock_and_store_drafts(
                    p_tenant, p_drafts, p_ids, p_keys, p_links, p_given, v_own, v_waiting, p_revive, p_now);
                IF v_stored.overtaken THEN
                    RAISE SQLSTATE 'RC000';
                END IF;
                EXIT;
            EXCEPTION WHEN SQLSTATE 'RC000' THEN
                NULL;
            END;
        END IF;
    END LOOP;
    ids := v_stored.ids;
    outcomes := v_stored.outcomes;
    written := v_stored.written;
    rewritten := v_stored.rewritten;
    locked := v_stored.locked;
    drafts := v_stored.drafts;
    changed := v_stored.changed;
    stale := v_stored.stale;
END $$;

-- lock_and_store_drafts: one attempt of store_drafts_with_retry: locks the memories to be changed or linked before it reads
-- them; p_own and p_waiting are those of lock_linked_memories. If `overtaken`, its locks and rows have to be undone.
CREATE OR REPLACE FUNCTION recall_private.lock_and_store_drafts(
    p_tenant text, p_drafts recall.memory[], p_ids bigint[], p_keys text[], p_links jsonb[], p_given jsonb[],
    p_own bigint[], p_waiting bigint[], p_revive boolean, p_now timestamptz,
    OUT ids bigint[], OUT outcomes text[], OUT written bigint[], OUT rewritten bigint[], OUT locked bigint[],
    OUT drafts recall.memory[], OUT changed jsonb[], OUT stale boolean[], OUT overtaken boolean
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_linked record := recall_private.lock_linked_memories(p_tenant, p_links, p_keys, p_own, p_waiting);
    v_earlier jsonb;
    v_completed record;
    v_stored record;
BEGIN
    locked := v_linked.locked;
    drafts := p_drafts;
    SELECT jsonb_object_agg(k.key, jsonb_build_object('id', k.id, 'hash', k.content_hash, 'archived', k.archived)),
           v_linked.overtaken OR coalesce(bool_or(k.id <> ALL (locked)), false)
    INTO v_earlier, overtaken
    FROM recall_private.memories_with_keys(p_tenant, p_keys) k;
    IF overtaken THEN
        RETURN;
    END IF;
    IF p_given IS NOT NULL THEN
        v_completed := recall_private.complete_drafts(p_tenant, p_drafts, p_keys, p_given, v_earlier);
        drafts := v_completed.drafts;
        changed := v_completed.changed;
        stale := v_completed.stale;
    END IF;
    IF v_earlier IS NULL THEN
        overtaken := recall_private.insert_drafts(p_tenant, drafts, p_now) < cardinality(array_remove(p_ids, NULL));
        ids := p_ids;
        written := p_ids;
    ELSE
        v_stored := recall_private.store_drafts(p_tenant, drafts, p_keys, v_earlier, p_revive, p_now);
        overtaken := v_stored.overtaken;
        ids := v_stored.ids;
        outcomes := v_stored.outcomes;
        written := v_stored.written;
        rewritten := v_stored.rewritten;
    END IF;
END $$;

-- store_drafts: stores drafts (NULL: rejected). p_earlier has the memories with their keys, as objects of {id, hash,
-- archived}. Returns ids and outcomes in the order of the drafts, `written` with the ids of stored memories,
-- `rewritten` with memories that have a new text or were restored, and `overtaken`: whether a key was taken since
-- p_earlier was read.
CREATE OR REPLACE FUNCTION recall_private.store_drafts(
    p_tenant text, p_drafts recall.memory[], p_keys text[], p_earlier jsonb,
    p_revive boolean, p_now timestamptz,
    OUT ids bigint[], OUT outcomes text[], OUT written bigint[], OUT rewritten bigint[], OUT overtaken boolean
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_born recall.memory[] := '{}';
    v_known recall.memory[] := '{}';
    v_stored jsonb;
    v_before jsonb;
BEGIN
    rewritten := '{}';
    FOR i IN 1 .. cardinality(p_drafts) LOOP
        v_before := p_earlier -> p_keys[i];
        ids[i] := CASE WHEN v_before IS NULL THEN (p_drafts[i]).id ELSE (v_before -> 'id')::bigint END;
        IF (p_drafts[i]).id IS NULL THEN
            outcomes[i] := 'rejected';
        ELSIF v_before IS NULL THEN
            outcomes[i] := 'created';
            v_born[cardinality(v_born) + 1] := p_drafts[i];
        ELSE
            outcomes[i] := CASE WHEN (v_before -> 'archived')::boolean THEN 'revived' ELSE 'updated' END;
            v_known[cardinality(v_known) + 1] := p_drafts[i];
            v_known[cardinality(v_known)].id := ids[i];
        END IF;
    END LOOP;
    overtaken := recall_private.insert_drafts(p_tenant, v_born, p_now) < cardinality(v_born);
    written := ids;
    IF v_known <> '{}' AND NOT overtaken THEN
        PERFORM recall_private.note_rewrites(p_tenant, v_known, p_now);
        v_stored := recall_private.update_drafts(p_tenant, v_known, p_earlier, p_revive);
        FOR i IN 1 .. cardinality(p_drafts) LOOP
            v_before := p_earlier -> p_keys[i];
            IF outcomes[i] IN ('updated', 'revived') AND NOT coalesce(v_stored ? p_keys[i], false) THEN
                outcomes[i] := 'unchanged';
                written[i] := NULL;
            ELSIF outcomes[i] = 'revived'
                  OR outcomes[i] = 'updated' AND v_stored ->> p_keys[i] <> v_before ->> 'hash' THEN
                rewritten := rewritten || ids[i];
            END IF;
        END LOOP;
    END IF;
END $$;

-- insert_drafts: stores these rows (NULL: rejected) as new memories, with their activations (creation is the first
-- access) and a logged write, in a single statement, since a statement costs more than a row. Returns the number of
-- inserted memories: fewer than rows if a key exists.
CREATE OR REPLACE FUNCTION recall_private.insert_drafts(
    p_tenant text, p_drafts recall.memory[], p_now timestamptz
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_stored bigint;
    v_era int := recall_private.change_era(p_tenant);
BEGIN
    WITH stored AS (
        INSERT INTO recall.memory (
            tenant, id, key, layer, title, body, role, author, context, source, session_id, tags, aliases, metadata,
            occurred_at, valid_from, valid_until, expires_at, pinned, created_at, updated_at, embedded_with, language,
            passage_count, speech_act, act_marked)
        OVERRIDING SYSTEM VALUE
        SELECT d.tenant, d.id, d.key, d.layer, d.title, d.body, d.role, d.author, d.context, d.source, d.session_id,
               d.tags, d.aliases, d.metadata, d.occurred_at, d.valid_from, d.valid_until, d.expires_at, d.pinned,
               d.created_at, d.updated_at, d.embedded_with, d.language, d.passage_count,
               d.speech_act, d.speech_act IS NOT NULL
        FROM unnest(p_drafts) d WHERE d.id IS NOT NULL
        -- In the order of keys, because inserts wait for other transactions that insert the same keys.
        ORDER BY d.key, d.id
        ON CONFLICT (tenant, key) DO NOTHING
        RETURNING id, layer, least(coalesce(occurred_at, p_now), p_now) AS at
    ), newborn AS MATERIALIZED (
        SELECT s.id, l.decay, l.clock, l.birth_weight, recall_private.weight_in_millionths(l.birth_weight) AS weight, s.at
        FROM stored s
        JOIN recall_private.effective_layers(p_tenant) l ON l.name = s.layer
    ), logged AS (
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
        SELECT p_tenant, n.id, 'write', n.birth_weight, n.at, p_now FROM newborn n
    ), noted AS (
        INSERT INTO recall.memory_change (tenant, era, memory_id, kind, at)
        SELECT p_tenant, v_era, s.id, 'new', p_now FROM stored s
    )
    INSERT INTO recall.activation (
        tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, credit, folded_until, decay, clock)
    SELECT p_tenant, b.id, b.n, b.at, b.at,
           CASE WHEN b.n >= 2 THEN b.at END, CASE WHEN b.n >= 3 THEN b.at END,
           CASE WHEN b.n >= 4 THEN b.at END, CASE WHEN b.n >= 5 THEN b.at END,
           CASE WHEN b.n >= 6 THEN b.at END, CASE WHEN b.n >= 7 THEN b.at END,
           CASE WHEN b.n >= 8 THEN b.at END,
           b.credit, b.born_at, b.decay, b.clock
    FROM (SELECT n.id, n.weight / 1000000 AS n, recall_private.epoch(n.at) AS at, n.at AS born_at, n.decay, n.clock,
                 n.weight % 1000000 / 1000000.0::double precision AS credit FROM newborn n) b;
    GET DIAGNOSTICS v_stored = ROW_COUNT;
    RETURN v_stored;
END $$;

-- update_drafts: updates the memories with the keys of these rows, which are locked, where they differ. Returns an
-- object of the keys of changed memories with their new hash.
CREATE OR REPLACE FUNCTION recall_private.update_drafts(
    p_tenant text, p_drafts recall.memory[], p_earlier jsonb, p_revive boolean
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_stored jsonb;
BEGIN
    WITH stored AS (
        UPDATE recall.memory m SET
            layer = d.layer, title = d.title, body = d.body, role = d.role, author = d.author, context = d.context,
            source = d.source, session_id = d.session_id, tags = d.tags, aliases = d.aliases, metadata = d.metadata,
            occurred_at = d.occurred_at, valid_from = d.valid_from, valid_until = d.valid_until,
            -- A draft can pin but not unpin (`pin` does), or every import would unpin memories.
            expires_at = d.expires_at, pinned = m.pinned OR d.pinned, updated_at = d.updated_at, archived_at = NULL,
            -- What a person marked stays so until it is marked otherwise, or shall be found out again.
            speech_act = CASE WHEN d.act_marked IS NOT FALSE THEN coalesce(d.speech_act, m.speech_act) END,
            act_marked = d.act_marked IS NOT FALSE AND (m.act_marked OR d.speech_act IS NOT NULL),
            embedded_with = CASE WHEN d.embedded_with IS NOT NULL THEN d.embedded_with
                                 WHEN (d.title, d.body) = (m.title, m.body) THEN m.embedded_with END,
            passage_count = CASE WHEN d.embedded_with IS NOT NULL THEN d.passage_count
                                 WHEN (d.title, d.body) = (m.title, m.body) THEN m.passage_count END
        FROM unnest(p_drafts) d
        WHERE m.tenant = p_tenant AND m.id = (p_earlier -> d.key -> 'id')::bigint
          AND ((m.layer, m.title, m.body, m.role, m.author, m.context, m.source, m.session_id, m.tags, m.aliases,
                m.metadata, m.occurred_at, m.valid_from, m.valid_until, m.expires_at, m.pinned)
               IS DISTINCT FROM
               (d.layer, d.title, d.body, d.role, d.author, d.context, d.source, d.session_id, d.tags, d.aliases,
                d.metadata, d.occurred_at, d.valid_from, d.valid_until, d.expires_at, m.pinned OR d.pinned)
               OR (d.embedded_with IS NOT NULL AND m.embedded_with IS DISTINCT FROM d.embedded_with)
               OR (d.speech_act IS NOT NULL AND (m.speech_act, m.act_marked) IS DISTINCT FROM (d.speech_act, true))
               OR (d.act_marked IS FALSE AND m.act_marked)
               OR (p_revive AND m.archived_at IS NOT NULL))
        RETURNING m.key, m.content_hash
    )
    SELECT jsonb_object_agg(s.key, s.content_hash) INTO v_stored FROM stored s;
    RETURN v_stored;
END $$;

-- analyze_grown_tables: for a transaction that writes p_many rows: analyzes each table of the schema that has more than
-- doubled, and grown by more than a thousand rows, since the planner last knew its size. Autovacuum does this within a
-- minute or two; until then each stored row could scan all earlier ones, because plans were made for empty tables. Fewer
-- than a hundred rows at a time are looked at by memories and links alone, which takes some microseconds. What this
-- session inserted counts at once: it is reported when its transaction ends, or up to a second later. A table that is
-- being analyzed is skipped. The statistics are those of all tenants, so their size does not follow the caller's setting.
CREATE OR REPLACE FUNCTION recall_private.analyze_grown_tables(p_many int) RETURNS void
LANGUAGE plpgsql VOLATILE
SET default_statistics_target = 100 AS $$
DECLARE
    v_table regclass;
BEGIN
    IF p_many < 100 AND NOT EXISTS (
        SELECT FROM pg_class c WHERE c.oid IN ('recall.memory'::regclass, 'recall.link'::regclass)
        AND pg_stat_get_mod_since_analyze(c.oid) + pg_stat_get_xact_tuples_inserted(c.oid)
            > 1000 + greatest(c.reltuples, 0)) THEN
        RETURN;
    END IF;
    FOR v_table IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r'
          AND pg_stat_get_mod_since_analyze(c.oid) + pg_stat_get_xact_tuples_inserted(c.oid)
              > 1000 + greatest(c.reltuples, 0)
        ORDER BY c.oid
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', v_table);
    END LOOP;
END $$;
