-- Imports: what each import of a source stored, changed and archived, kept as an applied plan of the kind `import`, so that
-- it can be undone. Its items have, in `before`, what undo gives back and versions do not hold.

-- import_plan_id: the id of the plan of an import. Imports of a tenant are numbered on their own, from 1, so that they use
-- up no numbers of plans that a person makes.
CREATE OR REPLACE FUNCTION recall_private.import_plan_id(p_import bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1::bigint << 51) + least(greatest(p_import, 0), 1::bigint << 51);

-- import_number: the number of the import that this plan is of.
CREATE OR REPLACE FUNCTION recall_private.import_number(p_plan_id bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_plan_id - (1::bigint << 51);

-- store_imported (app; Imports): stores what an importer read of a source, as remember_many does with p_skip_rejected
-- and without p_revive, and notes it under the import p_import. Without p_import, or if that was undone, a new import
-- begins with the first change. `import` has its id, NULL if nothing was noted. A memory that an import had archived,
-- because its source no longer held it, is restored.
CREATE OR REPLACE FUNCTION recall.store_imported(
    p_source text, p_import bigint, p_items jsonb, p_embedded_with text DEFAULT NULL, p_now timestamptz DEFAULT now(),
    p_project text DEFAULT NULL
) RETURNS TABLE (
    item int, id bigint, key text, outcome text, problem text, similar_to jsonb, changed text[], import bigint
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_before jsonb;
    v_rows jsonb;
    v_back bigint[];
    v_import bigint;
BEGIN
    PERFORM recall_private.lock_import(v_tenant, p_source, p_import);  -- before any memory, as undo_import does
    v_before := recall_private.states_before_import(v_tenant, ARRAY(
        SELECT k.id FROM recall_private.memories_with_keys(v_tenant, ARRAY(
            SELECT jsonb_path_query(p_items, '$[*].key') #>> '{}')) k));
    v_rows := (SELECT jsonb_agg(r) FROM recall.remember_many(
        p_items, p_embedded_with, true, p_now, false, p_project => p_project) r);
    v_back := ARRAY(
        SELECT r.id FROM jsonb_to_recordset(v_rows) AS r(id bigint, outcome text)
        WHERE r.outcome = 'unchanged' AND v_before -> r.id::text ? 'archival'
          AND recall_private.removed_by_import(v_tenant, (v_before -> r.id::text -> 'archival')::bigint));
    IF v_back <> '{}' THEN
        v_back := recall_private.restore_memories(v_tenant, v_back, p_now);
    END IF;
    v_import := recall_private.note_import(
        v_tenant, p_source, p_import, v_before, ARRAY(
            SELECT r.id FROM jsonb_to_recordset(v_rows) AS r(id bigint, outcome text)
            WHERE r.outcome IN ('created', 'updated', 'revived')) || v_back, p_now);
    RETURN QUERY
    SELECT r.item, r.id, r.key, CASE WHEN r.id = ANY (v_back) THEN 'revived' ELSE r.outcome END, r.problem, r.similar_to,
           r.changed, v_import
    FROM jsonb_to_recordset(v_rows) AS r(
        item int, id bigint, key text, outcome text, problem text, similar_to jsonb, changed text[])
    ORDER BY r.item;
END $$;

-- archive_imported (app; Imports): archives the live memories of a source with these keys, which it no longer holds,
-- in one step; the import p_import notes it, as with store_imported. Returns how many, and the id of the import.
CREATE OR REPLACE FUNCTION recall.archive_imported(
    p_source text, p_import bigint, p_keys text[], p_now timestamptz DEFAULT now(), OUT archived bigint, OUT import bigint
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[];
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.lock_tenant(v_tenant, 'import');
    v_ids := ARRAY(
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.source = p_source AND m.key = ANY (recall_private.require_one_dimension(p_keys))
          AND m.archived_at IS NULL);
    v_ids := recall_private.archive_memories(v_tenant, v_ids, 'forgotten', NULL, p_now);
    archived := cardinality(v_ids);
    import := recall_private.note_import(v_tenant, p_source, p_import, '{}', v_ids, p_now);
END $$;

-- rename_imported (app; Imports): gives live memories of a source new keys, as rename_keys does, because their notes
-- were renamed; the import p_import notes it, as with store_imported. Returns how many, and the id of the import.
CREATE OR REPLACE FUNCTION recall.rename_imported(
    p_source text, p_import bigint, p_keys jsonb, p_now timestamptz DEFAULT now(), OUT renamed bigint, OUT import bigint
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_before jsonb;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_new_keys(p_keys),
            recall_private.lock_tenant(v_tenant, 'import');
    v_before := recall_private.states_before_import(v_tenant, ARRAY(
        SELECT k.id FROM recall_private.memories_with_keys(v_tenant, ARRAY(SELECT jsonb_object_keys(p_keys))) k));
    renamed := recall.rename_keys(p_source, p_keys, p_now);
    import := recall_private.note_import(v_tenant, p_source, p_import, v_before, ARRAY(
        SELECT k.id FROM recall_private.memories_with_keys(v_tenant, ARRAY(SELECT value FROM jsonb_each_text(p_keys))) k
        WHERE v_before ? k.id::text), p_now);
END $$;

-- removed_by_import: whether this archival was made by an import because the source no longer held the memory.
CREATE OR REPLACE FUNCTION recall_private.removed_by_import(p_tenant text, p_archival bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM recall.archival v
        JOIN recall.plan_item i ON i.tenant = p_tenant AND i.memory_id = v.memory_id AND i.outcome = 'archived'
        WHERE v.tenant = p_tenant AND v.id = p_archival AND (i.before -> 'after' -> 'archival')::bigint = v.id)
$$;

-- import_states: what versions do not hold of these memories, by id: key, layer, expiry, pin, links that came with the text, and
-- the current archival if archived; and how to tell whether a memory was changed: `number` of its version, `hash` of its
-- text, and `updated_at`. Without p_links the links are left out.
CREATE OR REPLACE FUNCTION recall_private.import_states(p_tenant text, p_ids bigint[], p_links boolean)
RETURNS TABLE (id bigint, state jsonb)
LANGUAGE sql STABLE ROWS 100
SET search_path FROM CURRENT AS $$
    SELECT m.id, jsonb_build_object(
               'key', m.key, 'number', m.number, 'hash', m.content_hash, 'updated_at', m.updated_at, 'layer', m.layer,
               'expires_at', m.expires_at, 'pinned', m.pinned)
           || CASE WHEN m.archived_at IS NULL THEN '{}' ELSE jsonb_build_object('archival', (
                  SELECT v.id FROM recall.archival v
                  WHERE v.tenant = p_tenant AND v.memory_id = m.id AND v.restored_at IS NULL)) END
           || CASE WHEN p_links THEN jsonb_build_object('links', l.links) ELSE '{}' END
    FROM unnest(p_ids) u(id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.key, o.content_hash, o.updated_at, o.layer, o.expires_at, o.pinned, o.archived_at, coalesce((
            SELECT v.number FROM recall.memory_version v
            WHERE v.tenant = p_tenant AND v.memory_id = o.id ORDER BY v.number DESC LIMIT 1), 0) + 1 AS number
        FROM recall.memory o WHERE o.tenant = p_tenant AND o.id = u.id OFFSET 0) m
    CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(to_jsonb(k)), '[]') AS links FROM (
            SELECT o.dst, NULL AS target, o.relation, o.weight, o.created_at FROM recall.link o
            WHERE p_links AND o.tenant = p_tenant AND o.src = m.id AND o.drafted
            UNION ALL
            SELECT NULL, o.target, o.relation, o.weight, o.created_at FROM recall.pending_link o
            WHERE p_links AND o.tenant = p_tenant AND o.src = m.id) k) l
$$;

-- states_before_import: import_states as one object, by id.
CREATE OR REPLACE FUNCTION recall_private.states_before_import(p_tenant text, p_ids bigint[]) RETURNS jsonb
LANGUAGE sql STABLE
RETURN coalesce((SELECT jsonb_object_agg(s.id, s.state) FROM recall_private.import_states(p_tenant, p_ids, true) s), '{}');

-- lock_import: locks the plan of an import of this source that goes on, and returns its id; if there is none, or it was
-- undone, NULL, and no other import can begin until this transaction ends.
CREATE OR REPLACE FUNCTION recall_private.lock_import(p_tenant text, p_source text, p_import bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_import bigint;
BEGIN
    SELECT p.id INTO v_import FROM recall.plan p
    WHERE p.tenant = p_tenant AND p.id = recall_private.import_plan_id(p_import) AND p.kind = 'import' AND p.state = 'applied'
      AND p.options ->> 'source' = p_source
    FOR NO KEY UPDATE;
    IF v_import IS NULL THEN
        PERFORM recall_private.lock_tenant(p_tenant, 'import');
    END IF;
    RETURN v_import;
END $$;

-- note_import: notes these changed memories under an import, and returns its id. p_before has the states of those that
-- existed before; memories that have no other state than before (a new vector, say) are left out. A memory that an import
-- changes twice keeps the first state before. Keeps 1,000 imports, first the newest of each source: an agent that
-- imports each turn pushes out only its own.
CREATE OR REPLACE FUNCTION recall_private.note_import(
    p_tenant text, p_source text, p_import bigint, p_before jsonb, p_ids bigint[], p_now timestamptz
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_import bigint;
    v_counts jsonb;
BEGIN
    v_import := recall_private.lock_import(p_tenant, p_source, p_import);
    IF p_ids = '{}' THEN
        RETURN recall_private.import_number(v_import);
    END IF;
    IF v_import IS NULL THEN
        v_import := coalesce((SELECT max(p.id) FROM recall.plan p WHERE p.tenant = p_tenant AND p.kind = 'import'),
                             recall_private.import_plan_id(0)) + 1;
        INSERT INTO recall.plan (tenant, id, kind, state, created_at, applied_at, options, report)
        OVERRIDING SYSTEM VALUE
        VALUES (p_tenant, v_import, 'import', 'applied', p_now, p_now, jsonb_build_object('source', p_source), '{}');
        DELETE FROM recall.plan p WHERE p.tenant = p_tenant AND p.id IN (
            SELECT o.id FROM recall.plan o WHERE o.tenant = p_tenant AND o.kind = 'import'
            ORDER BY row_number() OVER (PARTITION BY o.options ->> 'source' ORDER BY o.id DESC), o.id DESC OFFSET 1000);
    END IF;
    WITH noted AS (
        INSERT INTO recall.plan_item AS i (
            tenant, plan_id, memory_id, place, vitality, reason, content_hash, outcome, before)
        SELECT p_tenant, v_import, s.id, 0, 0, 'Import.', s.state ->> 'hash',
               CASE WHEN p_before ? s.id::text THEN 'changed' WHEN s.state ? 'archival' THEN 'archived' ELSE 'created' END,
               coalesce(p_before -> s.id::text, '{}') || jsonb_build_object('after', s.state)
        FROM recall_private.import_states(p_tenant, p_ids, false) s
        WHERE NOT coalesce(p_before -> s.id::text @> (s.state - 'updated_at')
                           AND s.state ? 'archival' = (p_before -> s.id::text ? 'archival'), false)
        ORDER BY s.id
        ON CONFLICT (tenant, plan_id, memory_id) DO UPDATE SET
            content_hash = excluded.content_hash,
            outcome = CASE i.outcome WHEN 'created' THEN 'created' ELSE excluded.outcome END,
            before = excluded.before || i.before || jsonb_build_object('after', excluded.before -> 'after')
        RETURNING i.outcome, i.xmax = 0 AS first
    )
    SELECT jsonb_object_agg(c.outcome, c.count) INTO v_counts
    FROM (SELECT n.outcome, count(*) FROM noted n WHERE n.first GROUP BY n.outcome) c;
    UPDATE recall.plan p SET report = recall_private.added_counts(p.report, v_counts)
    WHERE p.tenant = p_tenant AND p.id = v_import AND v_counts IS NOT NULL;
    RETURN recall_private.import_number(v_import);
END $$;

-- unused_imports (reader; Imports): live memories that an import added and that were never used since, newest first.
CREATE OR REPLACE FUNCTION recall.unused_imports(p_limit int DEFAULT 50)
RETURNS TABLE (id bigint, key text, title text, source text, imported_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 1000, 'p_limit');
    RETURN QUERY SELECT m.id, m.key, coalesce(nullif(m.title, ''), left(m.body, 60)), p.options ->> 'source', p.created_at
    FROM recall.plan p
    JOIN recall.plan_item i ON i.tenant = p.tenant AND i.plan_id = p.id AND i.outcome = 'created'
    JOIN recall.memory m ON m.tenant = p.tenant AND m.id = i.memory_id AND m.archived_at IS NULL
    WHERE p.tenant = recall.current_tenant() AND p.kind = 'import' AND NOT EXISTS (
        SELECT FROM recall_private.used_memories(recall.current_tenant()) u WHERE u.memory_id = m.id)
    ORDER BY p.id DESC, m.id DESC LIMIT p_limit;
END $$;

-- imports (reader; Imports): the newest imports that stored, changed or archived something, newest first; with p_source
-- only those of this source. Counts are of memories. What changed since then does not change them.
CREATE OR REPLACE FUNCTION recall.imports(p_limit int DEFAULT 20, p_source text DEFAULT NULL)
RETURNS TABLE (
    id bigint, source text, started_at timestamptz, created bigint, changed bigint, archived bigint, undone_at timestamptz
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 1000, 'p_limit');
    RETURN QUERY
    SELECT recall_private.import_number(p.id), p.options ->> 'source', p.created_at, coalesce((p.report ->> 'created')::bigint, 0),
           coalesce((p.report ->> 'changed')::bigint, 0), coalesce((p.report ->> 'archived')::bigint, 0), p.undone_at
    FROM recall.plan p
    WHERE p.tenant = v_tenant AND p.kind = 'import' AND (p_source IS NULL OR p.options ->> 'source' = p_source)
    ORDER BY p.id DESC LIMIT p_limit;
END $$;
