-- Versions of memories: their text and fields before each change.

-- current_interface: the interface through which this transaction makes changes: the setting `recall.interface` of a
-- program, else sql.
CREATE OR REPLACE FUNCTION recall_private.current_interface() RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN left(coalesce(nullif(current_setting('recall.interface', true), ''), 'sql'), 100);
END $$;

-- note_rewrites: for memories that are about to become p_new, and are locked: keeps a version of those whose text, role,
-- author, tags, aliases, metadata, time or validity change, and logs every change as `rewritten`.
CREATE OR REPLACE FUNCTION recall_private.note_rewrites(p_tenant text, p_new recall.memory[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_reworded bigint[];
    v_changed bigint[];
BEGIN
    SELECT array_agg(x.id ORDER BY x.id) FILTER (WHERE x.content_differs),
           array_agg(x.id ORDER BY x.id) FILTER (WHERE x.content_differs OR x.other_differs)
    INTO v_reworded, v_changed
    FROM (
        SELECT m.id,
               (m.title, m.body, m.role, m.author, m.tags, m.aliases, m.metadata, m.occurred_at, m.valid_from, m.valid_until)
               IS DISTINCT FROM
               (d.title, d.body, d.role, d.author, d.tags, d.aliases, d.metadata, d.occurred_at, d.valid_from, d.valid_until)
               AS content_differs,
               (m.layer, m.context, m.source, m.session_id, m.expires_at)
               IS DISTINCT FROM (d.layer, d.context, d.source, d.session_id, d.expires_at) AS other_differs
        FROM unnest(p_new) d JOIN recall.memory m ON m.tenant = p_tenant AND m.id = d.id) x;
    PERFORM recall_private.log_changes(p_tenant, v_changed, 'rewritten', p_now);
    IF v_reworded IS NOT NULL THEN
        PERFORM recall_private.keep_versions(p_tenant, v_reworded, p_now);
    END IF;
END $$;

-- keep_versions: stores the current content of these locked memories as the newest version of each, and deletes the
-- oldest beyond the setting versions.per_memory, unless an undo can reverse the whole change. For callers that are
-- about to change the memories.
CREATE OR REPLACE FUNCTION recall_private.keep_versions(
    p_tenant text, p_ids bigint[], p_now timestamptz, p_delete_oldest boolean DEFAULT true
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_limit int := recall_private.setting_number(p_tenant, 'versions.per_memory');
BEGIN
    IF v_limit > 0 THEN
        INSERT INTO recall.memory_version
        SELECT v.* FROM recall_private.present_versions(p_tenant, p_ids, p_now) v ORDER BY v.memory_id;
    END IF;
    IF NOT p_delete_oldest THEN
        RETURN;
    END IF;
    DELETE FROM recall.memory_version v USING (
        SELECT u.id, l.number FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            SELECT o.number FROM recall.memory_version o
            WHERE o.tenant = p_tenant AND o.memory_id = u.id ORDER BY o.number DESC LIMIT 1) l) n
    WHERE v.tenant = p_tenant AND v.memory_id = n.id AND v.number <= n.number - v_limit;
END $$;

-- versions (reader; Versions and changes): the versions of a memory, newest first, starting with the current one, whose
-- `replaced_at` is NULL. `written_by` is the login role that wrote a version, `written_through` the interface: cli,
-- http, mcp, page, client, sql. Both are NULL if they were not recorded. With p_before, only those with lower numbers.
-- A page ends before p_limit where its texts and metadata would exceed p_max_bytes (NULL: no limit), but has at least
-- one version if there is one.
CREATE OR REPLACE FUNCTION recall.versions(
    p_memory_id bigint, p_limit int DEFAULT 50, p_before int DEFAULT NULL, p_max_bytes bigint DEFAULT 16000000
) RETURNS TABLE (
    number int, title text, body text, role text, author text, tags text[], aliases text[], metadata jsonb,
    occurred_at timestamptz, valid_from timestamptz, valid_until timestamptz, written_at timestamptz, written_by text,
    written_through text, replaced_at timestamptz
)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall.require_memory(p_memory_id), recall_private.require_between(p_limit, 1, 1001, 'p_limit');
    RETURN QUERY
    SELECT x.number, x.title, x.body, x.role, x.author, x.tags, x.aliases, x.metadata, x.occurred_at, x.valid_from,
           x.valid_until, x.written_at, x.written_by, x.written_through, x.replaced_at
    FROM (
        SELECT y.*, y.bytes + sum(CASE WHEN y.bytes <= p_max_bytes THEN recall_private.json_escapes(y.body) END)
                              OVER (ORDER BY y.place) AS written
        FROM (
            SELECT p.*, row_number() OVER w AS place,
                   sum(octet_length(p.body) + octet_length(p.metadata::text)
                       + octet_length(concat(p.title, p.author, p.tags, p.aliases))) OVER w AS bytes
            FROM (
                SELECT o.* FROM (
                    SELECT * FROM recall_private.present_versions(v_tenant, ARRAY[p_memory_id])
                    UNION ALL
                    SELECT v.* FROM recall.memory_version v WHERE v.tenant = v_tenant AND v.memory_id = p_memory_id) o
                WHERE p_before IS NULL OR o.number < p_before
                ORDER BY o.number DESC LIMIT p_limit) p
            WINDOW w AS (ORDER BY p.number DESC)) y) x
    WHERE x.place = 1 OR x.written <= p_max_bytes OR p_max_bytes IS NULL
    ORDER BY x.number DESC;
END $$;

-- present_versions: the current content of these memories, as versions that p_replaced_at replaces; NULL: that were not
-- replaced.
CREATE OR REPLACE FUNCTION recall_private.present_versions(p_tenant text, p_ids bigint[], p_replaced_at timestamptz DEFAULT NULL)
RETURNS SETOF recall.memory_version
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT p_tenant, m.id, coalesce(l.number, 0) + 1, m.title, m.body, m.role, m.author, m.tags, m.aliases, m.metadata,
           m.occurred_at, m.valid_from, m.valid_until, coalesce(l.replaced_at, m.created_at), l.replaced_by,
           l.replaced_through, r.at, CASE WHEN r.at IS NOT NULL THEN session_user::text END,
           CASE WHEN r.at IS NOT NULL THEN recall_private.current_interface() END
    FROM unnest(p_ids) u(id)
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = u.id
    LEFT JOIN LATERAL (
        SELECT v.number, v.replaced_at, v.replaced_by, v.replaced_through FROM recall.memory_version v
        WHERE v.tenant = p_tenant AND v.memory_id = m.id ORDER BY v.number DESC LIMIT 1) l ON true
    CROSS JOIN LATERAL (
        SELECT CASE WHEN p_replaced_at IS NOT NULL THEN greatest(p_replaced_at, l.replaced_at, m.created_at) END AS at) r;
END $$;

-- require_version: the version of a memory with this number (NULL means the current one). Raises an error if it is not
-- kept.
CREATE OR REPLACE FUNCTION recall_private.require_version(p_tenant text, p_memory_id bigint, p_number int)
RETURNS recall.memory_version
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_version recall.memory_version := (
        SELECT v FROM recall_private.present_versions(p_tenant, ARRAY[recall.require_memory(p_memory_id)]) v);
    v_present int := v_version.number;
BEGIN
    IF p_number IS DISTINCT FROM v_present AND p_number IS NOT NULL THEN
        SELECT v.* INTO v_version FROM recall.memory_version v
        WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.number = p_number;
        IF NOT FOUND THEN
            PERFORM recall_private.raise_invalid(
                format('Memory %s has no version %s; the current one is %s.', p_memory_id, p_number, v_present),
                'List its versions; the setting versions.per_memory says how many are kept.');
        END IF;
    END IF;
    RETURN v_version;
END $$;

-- version_fields: the content of a version, as the fields that `edit` takes.
CREATE OR REPLACE FUNCTION recall_private.version_fields(p_version recall.memory_version) RETURNS jsonb
LANGUAGE sql STABLE
RETURN to_jsonb(p_version) - '{tenant, memory_id, number, written_at, written_by, written_through, replaced_at, replaced_by,
    replaced_through}'::text[];

-- diff_versions (reader; Versions and changes): the fields in which two versions of a memory differ, with their values;
-- without p_later, from a version to the current one. Clients compare title and body word by word.
CREATE OR REPLACE FUNCTION recall.diff_versions(p_memory_id bigint, p_earlier int, p_later int DEFAULT NULL)
RETURNS TABLE (field text, earlier jsonb, later jsonb)
LANGUAGE plpgsql STABLE ROWS 5
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_earlier jsonb;
    v_later jsonb;
BEGIN
    IF p_earlier IS NULL THEN
        PERFORM recall_private.raise_invalid('p_earlier is NULL; it must be the number of a version.');
    END IF;
    v_earlier := recall_private.version_fields(recall_private.require_version(v_tenant, p_memory_id, p_earlier));
    v_later := recall_private.version_fields(recall_private.require_version(v_tenant, p_memory_id, p_later));
    RETURN QUERY
    SELECT f.field, v_earlier -> f.field, v_later -> f.field
    FROM unnest(ARRAY['title', 'body', 'role', 'author', 'tags', 'aliases', 'metadata', 'occurred_at', 'valid_from',
                      'valid_until']) WITH ORDINALITY f(field, place)
    WHERE v_earlier -> f.field IS DISTINCT FROM v_later -> f.field ORDER BY f.place;
END $$;

-- restore_version (app; Versions and changes): restores the text and fields of an earlier version, as an edit; the
-- replaced ones become a version. Its layer, links, pin and accesses stay, and an archived memory stays archived.
-- p_embedded and p_embedded_with are as for edit.
CREATE OR REPLACE FUNCTION recall.restore_version(
    p_memory_id bigint, p_number int, p_embedded jsonb DEFAULT NULL, p_embedded_with text DEFAULT NULL,
    p_now timestamptz DEFAULT now()
) RETURNS TABLE (id bigint, key text, outcome text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_version recall.memory_version;
BEGIN
    IF p_number IS NULL THEN
        PERFORM recall_private.raise_invalid('p_number is NULL; it must be the number of a version.');
    END IF;
    v_version := recall_private.require_version(v_tenant, p_memory_id, p_number);
    RETURN QUERY SELECT e.id, e.key, e.outcome
    FROM recall.edit(p_memory_id, recall_private.version_fields(v_version), p_embedded, p_embedded_with, p_now) e;
END $$;

-- drop_version: deletes the newest version of a memory, stored at p_since or later, if its content is p_said (as
-- version_fields returns it), because the memory is about to have that content again. Returns whether it did.
CREATE OR REPLACE FUNCTION recall_private.drop_version(p_tenant text, p_memory_id bigint, p_said jsonb, p_since timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM recall.memory_version v USING (
        SELECT n.* FROM recall.memory_version n WHERE n.tenant = p_tenant AND n.memory_id = p_memory_id
        ORDER BY n.number DESC LIMIT 1) newest
    WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.number = newest.number
      AND v.replaced_at >= p_since AND recall_private.version_fields(v) = p_said;
    RETURN FOUND;
END $$;

-- erase_versions: deletes the versions of this tenant that belong to the subject of an erasure although their memories
-- no longer do, because their author or tags were changed since, with what redact plans took out of these memories.
-- Returns the number of rows by table.
CREATE OR REPLACE FUNCTION recall_private.erase_versions(p_tenant text, p_subject jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_author text := recall_private.plain(lower(p_subject ->> 'author'));
    v_tag text := lower(p_subject ->> 'tag');
    v_gone bigint;
BEGIN
    IF v_author IS NULL AND v_tag IS NULL THEN
        RETURN '{}';  -- the other fields have no versions
    END IF;
    WITH gone AS (
        DELETE FROM recall.memory_version v USING recall.memory m
        WHERE v.tenant = p_tenant AND m.tenant = p_tenant AND m.id = v.memory_id
          AND (v_author IS NULL OR recall_private.plain(lower(v.author)) = v_author)
          AND (v_tag IS NULL OR EXISTS (SELECT FROM unnest(v.tags) t WHERE lower(t) = v_tag))
          AND (p_subject ->> 'session' IS NULL OR m.session_id = p_subject ->> 'session')
          AND (p_subject ->> 'source' IS NULL OR m.source = p_subject ->> 'source')
          AND (p_subject ->> 'key' IS NULL OR m.key LIKE recall_private.key_pattern(p_subject ->> 'key'))
        RETURNING v.memory_id
    ), taken AS (
        DELETE FROM recall.redacted_text t USING gone g WHERE t.tenant = p_tenant AND t.memory_id = g.memory_id
    )
    SELECT count(*) INTO v_gone FROM gone;
    RETURN CASE WHEN v_gone > 0 THEN jsonb_build_object('memory_version', v_gone) ELSE '{}' END;
END $$;
