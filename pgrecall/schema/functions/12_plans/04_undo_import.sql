-- Undoing an import: texts, fields and keys before it come back, what it archived is restored, and what it added is
-- deleted, or archived if it was used since. What was changed since stays.

-- undo_import (app; Imports): undoes an import of this tenant; without p_import, the last one not undone, of p_source
-- if given. Returns a JSON object: `id` and `source` of the import, the numbers of memories
-- `deleted`, `archived`, `given_back` (their text, fields and key before the import) and `restored` (which it had
-- archived), and `kept`, a list of {id, key, title, note} with those that stay as they are now, or were archived
-- because they were used. New texts have no vectors until the job embed makes them. Raises an error if there is no such
-- import, or it was undone before.
CREATE OR REPLACE FUNCTION recall.undo_import(
    p_import bigint DEFAULT NULL, p_source text DEFAULT NULL, p_now timestamptz DEFAULT now()
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_plan recall.plan;
    v_deleted bigint[];
    v_archived bigint[];
    v_restored bigint[];
    v_back bigint[];
    v_kept jsonb;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.lock_tenant(v_tenant, 'import'),
            recall_private.share_tenant_locks(v_tenant, ARRAY['rules', 'vectors']);
    v_plan := recall_private.require_import(v_tenant, p_import, p_source);
    PERFORM recall_private.lock_for_undo(v_plan);
    SELECT coalesce(array_agg(o.id) FILTER (WHERE o.deed = 'delete'), '{}'),
           coalesce(array_agg(o.id) FILTER (WHERE o.deed = 'archive'), '{}'),
           coalesce(array_agg(o.id) FILTER (WHERE o.deed = 'restore'), '{}'),
           coalesce(array_agg(o.id) FILTER (WHERE o.deed = 'give back'), '{}'),
           coalesce(jsonb_agg(jsonb_build_object('id', o.id, 'key', o.key, 'title', o.title, 'note', o.note) ORDER BY o.id)
                    FILTER (WHERE o.note IS NOT NULL), '[]')
    INTO v_deleted, v_archived, v_restored, v_back, v_kept
    FROM recall_private.import_undo_steps(v_plan) o;
    v_restored := recall_private.restore_memories(v_tenant, v_restored, p_now);
    PERFORM recall_private.delete_imported(v_tenant, v_deleted, p_now);  -- first, since they may have the keys to give back
    PERFORM recall_private.give_back(v_plan, i.memory_id, i.before, p_now) FROM recall.plan_item i
    WHERE i.tenant = v_tenant AND i.plan_id = v_plan.id AND i.memory_id = ANY (v_back)
    ORDER BY i.memory_id;
    v_kept := v_kept || recall_private.give_back_keys(v_plan, v_back, p_now);
    -- A memory that is as an earlier import left it can be taken back by undoing that one too.
    UPDATE recall.plan_item e SET before = e.before || jsonb_build_object('after', s.state)
    FROM recall.plan_item i CROSS JOIN LATERAL recall_private.import_states(v_tenant, ARRAY[i.memory_id], false) s
    WHERE i.tenant = v_tenant AND i.plan_id = v_plan.id AND i.memory_id = ANY (v_back)
      AND e.tenant = v_tenant AND e.memory_id = i.memory_id AND e.plan_id < v_plan.id
      AND e.before -> 'after' @> jsonb_build_object('number', i.before -> 'number', 'updated_at', i.before -> 'updated_at');
    PERFORM recall_private.archive_memories(v_tenant, v_archived || ARRAY(
        SELECT i.memory_id FROM recall.plan_item i
        WHERE i.tenant = v_tenant AND i.plan_id = v_plan.id AND i.memory_id = ANY (v_back) AND i.before ? 'archival'),
        'forgotten', NULL, p_now);
    UPDATE recall.plan p SET state = 'undone', undone_at = p_now WHERE p.tenant = v_tenant AND p.id = v_plan.id;
    RETURN jsonb_build_object(
        'id', recall_private.import_number(v_plan.id), 'source', v_plan.options ->> 'source', 'deleted', cardinality(v_deleted),
        'archived', cardinality(v_archived), 'given_back', cardinality(v_back), 'restored', cardinality(v_restored),
        'kept', v_kept);
END $$;

-- lock_for_undo: locks the memories of an import, and those whose rows change with them, then their activations.
CREATE OR REPLACE FUNCTION recall_private.lock_for_undo(p_plan recall.plan) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_around record := recall_private.lock_around(
        p_plan.tenant, 'SELECT kept, changed, ids AS removed FROM recall_private.around_undone($1, $2[1])', ARRAY[p_plan.id]);
BEGIN
    PERFORM recall_private.lock_activations(p_plan.tenant, v_around.removed || v_around.kept || v_around.changed);
END $$;

-- around_undone: the memories of an import; those that change when it is undone: around those that it deletes, and with
-- links that wait for a name that is given back; and those that only may not be deleted: at either end of their links, and
-- what superseded them.
CREATE OR REPLACE FUNCTION recall_private.around_undone(
    p_tenant text, p_plan bigint, OUT ids bigint[], OUT changed bigint[], OUT kept bigint[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_deleted record;
BEGIN
    SELECT coalesce(array_agg(DISTINCT i.memory_id), '{}'),
           -- A link that waits for its target has none, and a NULL would never be held.
           coalesce(array_agg(DISTINCT (l ->> 'dst')::bigint) FILTER (WHERE l ->> 'dst' IS NOT NULL), '{}') INTO ids, kept
    FROM recall.plan_item i LEFT JOIN LATERAL jsonb_array_elements(i.before -> 'links') l ON true
    WHERE i.tenant = p_tenant AND i.plan_id = p_plan;
    v_deleted := recall_private.around_deleted(p_tenant, ids);
    kept := kept || v_deleted.kept || v_deleted.spread_to || ARRAY(
        SELECT k.id FROM unnest(ids) u(id) CROSS JOIN LATERAL (
            (SELECT l.src FROM recall.link l WHERE l.tenant = p_tenant AND l.dst = u.id OFFSET 0)
            UNION ALL
            (SELECT m.superseded_by FROM recall.memory m
             WHERE m.tenant = p_tenant AND m.id = u.id AND m.superseded_by IS NOT NULL OFFSET 0)) k(id));
    changed := v_deleted.changed || ARRAY(
        SELECT p.src FROM recall.pending_link p WHERE p.tenant = p_tenant AND lower(p.target) IN (
            SELECT lower(n.name) FROM recall.plan_item i
            LEFT JOIN recall.memory_version v ON v.tenant = i.tenant AND v.memory_id = i.memory_id
              AND v.number = recall_private.version_before_import(i.before)
            CROSS JOIN LATERAL unnest(v.aliases || v.title || (i.before ->> 'key')) n(name)
            WHERE i.tenant = p_tenant AND i.plan_id = p_plan));
END $$;

-- require_import: the import to undo, locked. Raises an error if there is none, or it was undone before.
CREATE OR REPLACE FUNCTION recall_private.require_import(p_tenant text, p_import bigint, p_source text) RETURNS recall.plan
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_plan recall.plan;
BEGIN
    SELECT * INTO v_plan FROM recall.plan p
    WHERE p.tenant = p_tenant AND p.kind = 'import' AND (p_import IS NULL OR p.id = recall_private.import_plan_id(p_import))
      AND (p_source IS NULL OR p.options ->> 'source' = p_source) AND (p_import IS NOT NULL OR p.state = 'applied')
    ORDER BY p.id DESC LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM recall_private.raise_invalid(
            CASE WHEN p_import IS NULL THEN 'There is no import to undo' ELSE format('There is no import %s', p_import) END
            || CASE WHEN p_source IS NULL THEN '.' ELSE format(' of the source %L.', left(p_source, 100)) END,
            'List them with `pgrecall import list`.');
    ELSIF v_plan.state <> 'applied' THEN
        PERFORM recall_private.raise_invalid(format('Import %s was already undone at %s.', p_import, v_plan.undone_at));
    END IF;
    RETURN v_plan;
END $$;

-- version_before_import: the number of the version with the content that a memory had before an import that changed it.
CREATE OR REPLACE FUNCTION recall_private.version_before_import(p_before jsonb) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_before -> 'number' < p_before -> 'after' -> 'number' THEN (p_before -> 'number')::int END;

-- import_undo_steps: what undoing an import does with each of its memories: delete, archive, restore, give back, or NULL
-- for nothing, and a note on what a person should know. A created memory is deleted only if nothing refers to it: a search
-- that showed it is no use, links that came with a text wait for their target again.
CREATE OR REPLACE FUNCTION recall_private.import_undo_steps(p_plan recall.plan)
RETURNS TABLE (id bigint, key text, title text, deed text, note text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT x.id, x.key, x.title,
           CASE WHEN x.outcome = 'archived' THEN CASE WHEN x.archival = x.archived_as THEN 'restore' END
                WHEN x.changed OR x.pinned AND x.outcome = 'created' THEN NULL
                WHEN x.outcome = 'created' AND x.archival IS NULL THEN CASE WHEN x.use IS NULL THEN 'delete' ELSE 'archive' END
                WHEN x.outcome = 'changed' AND x.has_before THEN 'give back' END,
           CASE WHEN x.outcome = 'archived' THEN NULL
                WHEN x.changed THEN 'changed since, kept'
                WHEN x.outcome = 'changed' THEN CASE WHEN NOT x.has_before THEN 'its earlier version is not kept any more' END
                WHEN x.archival IS NOT NULL THEN NULL
                WHEN x.pinned THEN 'pinned since, kept'
                ELSE x.use || ', archived' END
    FROM (
        SELECT m.id, m.key, coalesce(nullif(m.title, ''), left(m.body, 60)) AS title, i.outcome,
               s.state ->> 'hash' <> i.before -> 'after' ->> 'hash' OR s.state -> 'number' <> i.before -> 'after' -> 'number'
               OR s.state -> 'updated_at' <> i.before -> 'after' -> 'updated_at' AS changed,
               m.pinned AND NOT (i.before -> 'after' -> 'pinned')::boolean AS pinned,
               (s.state -> 'archival')::bigint AS archival, (i.before -> 'after' -> 'archival')::bigint AS archived_as,
               (i.before ->> 'hash' = i.before -> 'after' ->> 'hash' AND i.before -> 'number' = i.before -> 'after' -> 'number')
               OR EXISTS (
                   SELECT FROM recall.memory_version v
                   WHERE v.tenant = m.tenant AND v.memory_id = m.id AND v.number = recall_private.version_before_import(i.before))
               AS has_before,
               CASE WHEN i.outcome <> 'created' THEN NULL
                    WHEN EXISTS (SELECT FROM recall.access a WHERE a.tenant = m.tenant AND a.memory_id = m.id
                                 AND a.kind NOT IN ('write', 'retrieval')) THEN 'used since'
                    WHEN EXISTS (SELECT FROM recall.link l WHERE l.tenant = m.tenant AND l.src = m.id AND NOT l.drafted)
                      OR EXISTS (SELECT FROM recall.link l WHERE l.tenant = m.tenant AND l.dst = m.id AND NOT l.drafted)
                      THEN 'linked since' END AS use
        FROM recall.plan_item i
        JOIN recall.memory m ON m.tenant = p_plan.tenant AND m.id = i.memory_id
        CROSS JOIN LATERAL recall_private.import_states(p_plan.tenant, ARRAY[m.id], false) s
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id) x
$$;

-- give_back: gives a memory, which is locked, the content, layer, expiry, pin and links that it had before an import.
CREATE OR REPLACE FUNCTION recall_private.give_back(p_plan recall.plan, p_memory bigint, p_before jsonb, p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_number int := recall_private.version_before_import(p_before);
    v_cited bigint[];
BEGIN
    PERFORM recall.edit(
        p_memory, jsonb_build_object('layer', p_before -> 'layer', 'expires_at', p_before -> 'expires_at')
        || CASE WHEN v_number IS NULL THEN '{}' ELSE (
            SELECT recall_private.version_fields(v) FROM recall.memory_version v
            WHERE v.tenant = p_plan.tenant AND v.memory_id = p_memory AND v.number = v_number) END, p_now => p_now);
    IF p_before -> 'after' -> 'pinned' <> p_before -> 'pinned' THEN
        PERFORM recall.pin(p_memory, (p_before -> 'pinned')::boolean, p_now);
    END IF;
    WITH wanted AS MATERIALIZED (
        SELECT k.id AS dst, w.target, w.relation, w.weight, w.created_at
        FROM jsonb_to_recordset(p_before -> 'links')
            AS w(dst bigint, target text, relation text, weight double precision, created_at timestamptz)
        LEFT JOIN recall.memory k ON k.tenant = p_plan.tenant AND k.id = w.dst AND k.id <> p_memory
    ), dropped AS (
        DELETE FROM recall.link l WHERE l.tenant = p_plan.tenant AND l.src = p_memory AND l.drafted
          AND NOT EXISTS (SELECT FROM wanted w WHERE w.dst = l.dst AND w.relation = l.relation)
        RETURNING l.*
    ), remembered AS (
        INSERT INTO recall.link_history (tenant, src, dst, relation, created_at, removed_at)
        SELECT d.tenant, d.src, d.dst, d.relation, d.created_at, greatest(p_now, d.created_at) FROM dropped d
    ), abandoned AS (
        DELETE FROM recall.pending_link p WHERE p.tenant = p_plan.tenant AND p.src = p_memory
          AND NOT EXISTS (SELECT FROM wanted w WHERE w.target = p.target AND w.relation = p.relation)
    ), made AS (
        INSERT INTO recall.link (tenant, src, dst, relation, weight, created_at, drafted)
        SELECT p_plan.tenant, p_memory, w.dst, w.relation, w.weight, w.created_at, true FROM wanted w WHERE w.dst IS NOT NULL
        ON CONFLICT DO NOTHING
        RETURNING dst
    ), waiting AS (
        INSERT INTO recall.pending_link (tenant, src, target, relation, weight, created_at)
        SELECT p_plan.tenant, p_memory, w.target, w.relation, w.weight, w.created_at FROM wanted w WHERE w.target IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(x.dst) INTO v_cited FROM (SELECT dst FROM dropped UNION SELECT dst FROM made) x;
    PERFORM recall_private.recount_links(p_plan.tenant, v_cited);
END $$;

-- give_back_keys: gives those of these memories that an import renamed their keys before it. Returns those that keep the new
-- one, because another memory has the old one by now, as in `kept` of undo_import.
CREATE OR REPLACE FUNCTION recall_private.give_back_keys(p_plan recall.plan, p_ids bigint[], p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_keys jsonb := (
        SELECT jsonb_object_agg(i.before -> 'after' ->> 'key', i.before ->> 'key') FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = ANY (p_ids)
          AND i.before ->> 'key' <> i.before -> 'after' ->> 'key');
BEGIN
    IF v_keys IS NULL THEN
        RETURN '[]';
    END IF;
    PERFORM recall.rename_keys(p_plan.options ->> 'source', v_keys, p_now);
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'id', m.id, 'key', m.key, 'title', coalesce(nullif(m.title, ''), left(m.body, 60)),
                   'note', 'its earlier key cannot be given back') ORDER BY m.id), '[]')
        FROM recall.memory m
        WHERE m.tenant = p_plan.tenant AND m.id = ANY (p_ids) AND v_keys ? m.key);
END $$;

-- delete_imported: deletes memories that an import created. Links of other texts to them wait for them again, by their keys.
CREATE OR REPLACE FUNCTION recall_private.delete_imported(p_tenant text, p_ids bigint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO recall.pending_link (tenant, src, target, relation, weight, created_at)
    SELECT p_tenant, l.src, m.key, l.relation, l.weight, l.created_at
    FROM recall.memory m JOIN recall.link l ON l.tenant = p_tenant AND l.dst = m.id AND l.drafted
    WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND l.src <> ALL (p_ids) AND m.key IS NOT NULL
    ON CONFLICT DO NOTHING;
    PERFORM recall_private.delete_memories(p_tenant, p_ids, p_now);
END $$;
