-- Checks of merges, for verify and for imports.

-- wrong_merges: memories with copies of accesses or links that belong to no applied merge.
CREATE OR REPLACE FUNCTION recall_private.wrong_merges(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT c.memory_id
    FROM (
        SELECT e.memory_id, e.merged_from FROM recall.access e
        WHERE e.tenant = p_tenant AND e.merged_from IS NOT NULL
        UNION ALL
        SELECT CASE l.merged_from WHEN l.dst THEN l.src ELSE m.superseded_by END, l.merged_from
        FROM recall.link l LEFT JOIN recall.memory m ON m.tenant = p_tenant AND m.id = l.merged_from
        WHERE l.tenant = p_tenant AND l.merged_from IS NOT NULL) c
    WHERE NOT EXISTS (
        SELECT FROM recall.plan_item g
        JOIN recall.plan p ON p.tenant = p_tenant AND p.id = g.plan_id AND p.state = 'applied'
        WHERE g.tenant = p_tenant AND g.memory_id = c.merged_from AND g.outcome = 'merged')
$$;

-- is_dedupe_report: whether these can be the options and the report of a dedupe plan. Only fields that are read elsewhere
-- are checked.
CREATE OR REPLACE FUNCTION recall_private.is_dedupe_report(p_options jsonb, p_report jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_typeof(p_options) = 'object' AND jsonb_typeof(p_report) = 'object'
       AND p_options ?& '{min_similarity, max_count, layers}'
       AND p_options - '{min_similarity, max_count, layers, chosen}'::text[] = '{}'
       AND p_report ?& '{live, uncompared, found, planned, capped, clusters, contradictions}'
       AND p_report - '{live, uncompared, found, planned, capped, clusters, contradictions}'::text[] = '{}'
       AND NOT EXISTS (
        SELECT FROM jsonb_each(p_options || p_report) f
        WHERE jsonb_typeof(f.value) <> CASE
            WHEN f.key IN ('max_count', 'min_similarity', 'live', 'uncompared', 'found', 'planned', 'capped', 'clusters')
                THEN 'number'
            WHEN f.key = 'chosen' THEN 'boolean' WHEN f.key = 'contradictions' THEN 'array' ELSE jsonb_typeof(f.value) END
           OR f.key = 'layers' AND jsonb_typeof(f.value) NOT IN ('array', 'null')
           OR f.key = 'contradictions' AND jsonb_path_exists(f.value, '$[*] ? (@.type() != "object" || !(exists(@.src)) '
               '|| !(exists(@.dst)) || !(exists(@.reason)) || !(exists(@.similarity)) || @.src.type() != "number" '
               '|| @.dst.type() != "number" || @.reason.type() != "string" '
               '|| @.similarity.type() != "number" && @.similarity.type() != "null" || exists(@.keyvalue().key ? '
               '(@ != "src" && @ != "dst" && @ != "reason" && @ != "similarity")))'))
       AND NOT EXISTS (
        SELECT FROM jsonb_each(p_report) f
        WHERE f.key IN ('live', 'uncompared', 'found', 'planned', 'capped', 'clusters')
          AND NOT pg_input_is_valid(f.value::text, 'bigint'))
$$;

-- delete_merged_copies: deletes the copies of accesses of these memories that their keepers have, because the memories
-- are being deleted, and recomputes the activations of the keepers. Copies of links stay as links of the keepers. The caller
-- has locked the keepers' activations.
CREATE OR REPLACE FUNCTION recall_private.delete_merged_copies(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_keepers bigint[];
BEGIN
    WITH dropped AS (
        DELETE FROM recall.access e WHERE e.tenant = p_tenant AND e.merged_from = ANY (p_ids) RETURNING e.memory_id
    )
    SELECT array_agg(DISTINCT d.memory_id) INTO v_keepers FROM dropped d WHERE d.memory_id <> ALL (p_ids);
    IF v_keepers IS NOT NULL THEN
        PERFORM recall_private.fold_memories(
            p_tenant, v_keepers, array_fill('-infinity'::timestamptz, ARRAY[cardinality(v_keepers)]));
    END IF;
    UPDATE recall.link l SET merged_from = NULL WHERE l.tenant = p_tenant AND l.merged_from = ANY (p_ids);
END $$;

-- keepers_of: the memories that have copies of accesses of these memories.
CREATE OR REPLACE FUNCTION recall_private.keepers_of(p_tenant text, p_ids bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT DISTINCT e.memory_id FROM recall.access e WHERE e.tenant = p_tenant AND e.merged_from = ANY (p_ids))
$$;
