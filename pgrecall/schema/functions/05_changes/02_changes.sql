-- Reading the log of changes, a page at a time.

-- change_position: the position that a cursor stands for; NULL stands for the position before the first change. Raises an
-- error for a text that is not a cursor.
CREATE OR REPLACE FUNCTION recall_private.change_position(p_cursor text, OUT era int, OUT xid bigint, OUT id bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_parts text[] := coalesce(regexp_match(p_cursor, '^(\d{1,9})-(\d{1,19})-(\d{1,19})$'),
                               CASE WHEN p_cursor IS NULL THEN '{0,0,0}'::text[] END);
BEGIN
    IF v_parts IS NULL OR NOT (pg_input_is_valid(v_parts[2], 'bigint') AND pg_input_is_valid(v_parts[3], 'bigint')) THEN
        PERFORM recall_private.raise_invalid(format('%L is not a cursor of changes.', left(p_cursor, 100)),
            'Give the cursor of the last change you read, or that of now: `pgrecall changes --cursor`, recall.change_cursor().');
    END IF;
    era := v_parts[1];
    xid := v_parts[2];
    id := v_parts[3];
END $$;

-- settled_until: the newest era of a tenant, and the transaction number in it below which no transaction is in progress. In a
-- database that was restored from a dump and not written to since, all changes are settled.
CREATE OR REPLACE FUNCTION recall_private.settled_until(p_tenant text, OUT era int, OUT xid bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_known jsonb := recall_private.setting_value(p_tenant, 'changes.era');
BEGIN
    era := coalesce((v_known -> 'era')::int, 0);
    xid := CASE
        WHEN split_part(v_known ->> 'server', ' ', 1) = (SELECT c.system_identifier::text FROM pg_control_system() c)
            THEN pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        ELSE 9223372036854775807 END;
END $$;

-- change_cursor (reader; Versions and changes): the cursor after the last change. To copy a tenant, get this cursor,
-- read the memories, then read the changes since. Some changes may be read twice; none is missed.
CREATE OR REPLACE FUNCTION recall.change_cursor() RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_settled record := recall_private.settled_until(v_tenant);
BEGIN
    RETURN format('%s-%s-0', v_settled.era, v_settled.xid);
END $$;

-- changes (reader; Versions and changes): up to p_limit (1 to 1,000) changes of this tenant's memories, in order.
-- p_since is the cursor of the last change read; NULL starts with the first one kept. `kind` is new, rewritten,
-- archived, restored (from the archive, or because the memory that superseded it was deleted), superseded or merged (by
-- `other_id`), deleted (for good), or risen or faded (to another `zone`, as found by the job vitality). `key`, `layer`
-- and `title` (without a title, the start of the body) have their current values; they are NULL if the memory was
-- deleted. A change is returned once every transaction that began before it has ended, including those in other
-- databases of the server. Raises an error if changes after p_since are no longer kept.
CREATE OR REPLACE FUNCTION recall.changes(
    p_since text DEFAULT NULL, p_limit int DEFAULT 100, p_kinds text[] DEFAULT NULL
) RETURNS TABLE (
    cursor text, kind text, id bigint, at timestamptz, key text, layer text, title text, zone text, other_id bigint
)
LANGUAGE plpgsql STABLE ROWS 100
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_after record := recall_private.change_position(p_since);
    v_settled record := recall_private.settled_until(v_tenant);
    v_unknown text := (SELECT min(k) FROM unnest(p_kinds) k WHERE k <> ALL (recall_private.change_kinds()));
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 1000, 'p_limit');
    IF v_unknown IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('There is no kind of change %L.', left(v_unknown, 100)),
            'There are ' || array_to_string(recall_private.change_kinds(), ', ') || '.');
    ELSIF (v_after.era, v_after.xid) > (v_settled.era, v_settled.xid) AND p_since IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('The cursor %L lies ahead of this database.', left(p_since, 100)),
            'It comes from another database, or this one was restored to an earlier time: read all memories again.');
    ELSIF p_since IS NOT NULL AND EXISTS (
        SELECT FROM recall.memory_change c
        WHERE c.tenant = v_tenant AND c.memory_id IS NULL
          AND (c.era, c.xid, c.id) > (v_after.era, v_after.xid, v_after.id)) THEN
        PERFORM recall_private.raise_invalid(format('Changes after the cursor %L are not kept any more.', left(p_since, 100)),
            'Read all memories again, then the changes since change_cursor(). The setting changes.days says how long they '
            'are kept.');
    END IF;
    RETURN QUERY
    SELECT format('%s-%s-%s', c.era, c.xid, c.id), c.kind, c.memory_id, c.at, m.key, m.layer,
           coalesce(nullif(m.title, ''), left(m.body, 60)), c.zone, c.other_id
    FROM (
        SELECT o.* FROM recall.memory_change o
        WHERE o.tenant = v_tenant AND (o.era, o.xid, o.id) > (v_after.era, v_after.xid, v_after.id)
          AND (o.era, o.xid) < (v_settled.era, v_settled.xid)
          AND o.memory_id IS NOT NULL AND (p_kinds IS NULL OR o.kind = ANY (p_kinds))
        ORDER BY o.era, o.xid, o.id LIMIT p_limit) c
    LEFT JOIN recall.memory m ON m.tenant = v_tenant AND m.id = c.memory_id
    ORDER BY c.era, c.xid, c.id;
END $$;
