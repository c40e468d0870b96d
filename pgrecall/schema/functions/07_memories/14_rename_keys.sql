-- Renaming: other keys for memories that stay what they are.

-- rename_keys (app; Remember): gives live memories of a source other keys. p_keys is a JSON object of new keys by
-- present ones. A memory keeps everything else: its links, accesses and versions; links that wait for its new key lead
-- to it. A new key that another memory has is passed over, and so is a present key without a live memory of this
-- source. Returns how many have a new key. Raises an error for keys that cannot be stored.
CREATE OR REPLACE FUNCTION recall.rename_keys(p_source text, p_keys jsonb, p_now timestamptz DEFAULT now())
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[];
    v_waiting bigint[];
    v_renamed bigint[];
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_new_keys(p_keys);
    LOOP
        BEGIN
            SELECT coalesce(array_agg(m.id), '{}') INTO v_ids
            FROM jsonb_object_keys(p_keys) k(old) JOIN recall.memory m ON m.tenant = v_tenant AND m.key = k.old
            WHERE m.source = p_source AND m.archived_at IS NULL;
            v_waiting := ARRAY(
                SELECT DISTINCT p.src FROM recall.pending_link p JOIN jsonb_each_text(p_keys) k
                ON lower(p.target) = lower(k.value) WHERE p.tenant = v_tenant);
            PERFORM recall_private.lock_memories(v_tenant, p_changed => v_waiting, p_removed => v_ids);
            WITH renamed AS (
                UPDATE recall.memory m SET key = k.value, updated_at = p_now
                FROM jsonb_each_text(p_keys) k
                WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) AND m.key = k.key AND m.source = p_source
                  AND m.archived_at IS NULL
                  AND NOT EXISTS (SELECT FROM recall.memory o WHERE o.tenant = v_tenant AND o.key = k.value)
                RETURNING m.id)
            SELECT coalesce(array_agg(r.id ORDER BY r.id), '{}') INTO v_renamed FROM renamed r;
            EXIT;
        EXCEPTION WHEN unique_violation THEN
            NULL;  -- another transaction has just stored one of the new keys: it is passed over now
        END;
    END LOOP;
    PERFORM recall_private.log_changes(v_tenant, v_renamed, 'rewritten', p_now);
    PERFORM recall_private.recount_links(v_tenant, recall_private.resolve_pending_links_to(v_tenant, v_renamed, v_waiting));
    RETURN cardinality(v_renamed);
END $$;

-- require_new_keys: raises an error unless p_keys is a JSON object of different keys that can be stored, by other keys.
CREATE OR REPLACE FUNCTION recall_private.require_new_keys(p_keys jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_wrong jsonb;
BEGIN
    IF jsonb_typeof(p_keys) IS DISTINCT FROM 'object' THEN
        PERFORM recall_private.raise_invalid('p_keys must be a JSON object of new keys by present ones.');
    END IF;
    SELECT k.value INTO v_wrong FROM jsonb_each(p_keys) k
    WHERE jsonb_typeof(k.value) <> 'string' OR length(k.value #>> '{}') NOT BETWEEN 1 AND 1000
       OR octet_length(k.value #>> '{}') > 2000
    LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('The new key %s cannot be stored.', left(v_wrong::text, 100)),
            'A key is a text of 1 to 1,000 characters and at most 2,000 bytes.');
    END IF;
    SELECT to_jsonb(k.value) INTO v_wrong FROM jsonb_each_text(p_keys) k GROUP BY k.value HAVING count(*) > 1 LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('The new key %s is given to two memories.', left(v_wrong::text, 100)),
            'A key names one memory.');
    END IF;
END $$;
