-- Reading stored dedupe plans. They are stored without words of memories, which are added when a plan is read.

-- moving_links: the links that a keeper gets when these memories are merged into it: the links between one of them and
-- another live memory that the keeper does not have yet. `src` and `dst` are those of the copy.
CREATE OR REPLACE FUNCTION recall_private.moving_links(p_tenant text, p_keeper bigint, p_ids bigint[])
RETURNS TABLE (
    src bigint, dst bigint, relation text, weight double precision, created_at timestamptz,
    strengthened_at timestamptz, merged_from bigint
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT ON (e.src, e.dst, e.relation)
           e.src, e.dst, e.relation, e.weight, e.created_at, e.strengthened_at, e.member
    FROM (
        SELECT CASE WHEN t.relation = 'co_access' THEN least(t.src, t.dst) ELSE t.src END AS src,
               CASE WHEN t.relation = 'co_access' THEN greatest(t.src, t.dst) ELSE t.dst END AS dst,
               t.relation, t.weight, t.created_at, t.strengthened_at, t.member, t.other
        FROM (
            SELECT p_keeper AS src, l.dst, l.relation, l.weight, l.created_at, l.strengthened_at, u.id AS member, l.dst AS other
            FROM unnest(p_ids) u(id) JOIN recall.link l ON l.tenant = p_tenant AND l.src = u.id
            UNION ALL
            SELECT l.src, p_keeper, l.relation, l.weight, l.created_at, l.strengthened_at, u.id, l.src
            FROM unnest(p_ids) u(id) JOIN recall.link l ON l.tenant = p_tenant AND l.dst = u.id) t
        WHERE t.other <> p_keeper AND t.other <> ALL (p_ids) AND t.relation NOT IN ('supersedes', 'next')) e
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = e.other AND m.archived_at IS NULL
    WHERE NOT EXISTS (
        SELECT FROM recall.link h
        WHERE h.tenant = p_tenant AND h.src = e.src AND h.dst = e.dst AND h.relation = e.relation)
    ORDER BY e.src, e.dst, e.relation, e.weight DESC, e.member
$$;

-- missing_values: the values of the second list that the first does not contain in any case, sorted.
CREATE OR REPLACE FUNCTION recall_private.missing_values(p_held text[], p_others text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT min(o COLLATE "C") FROM unnest(p_others) o
    WHERE lower(o) NOT IN (SELECT lower(h) FROM unnest(p_held) h)
    GROUP BY lower(o) ORDER BY 1);

-- dedupe_moves: what merging copies from these memories to a keeper, as JSON: the logged accesses, and the links, tags
-- and aliases that the keeper does not have.
CREATE OR REPLACE FUNCTION recall_private.dedupe_moves(p_tenant text, p_keeper bigint, p_ids bigint[]) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'accesses', (SELECT count(*) FROM recall.access e WHERE e.tenant = p_tenant AND e.memory_id = ANY (p_ids)),
        'links', (SELECT count(*) FROM recall_private.moving_links(p_tenant, p_keeper, p_ids)),
        'tags', to_jsonb(recall_private.missing_values(k.tags, (
            SELECT array_agg(t) FROM recall.memory m CROSS JOIN LATERAL unnest(m.tags) t
            WHERE m.tenant = p_tenant AND m.id = ANY (p_ids)))),
        'aliases', to_jsonb(recall_private.missing_values(k.aliases, (
            SELECT array_agg(t) FROM recall.memory m CROSS JOIN LATERAL unnest(m.aliases) t
            WHERE m.tenant = p_tenant AND m.id = ANY (p_ids)))))
    FROM recall.memory k WHERE k.tenant = p_tenant AND k.id = p_keeper
$$;

-- dedupe_member: an item of a plan with its memory, as JSON.
CREATE OR REPLACE FUNCTION recall_private.dedupe_member(i recall.plan_item, m recall.memory) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'id', m.id, 'key', m.key, 'layer', m.layer, 'title', c.title ->> 'title', 'vitality', i.vitality,
        'length', length(m.title) + length(m.body), 'updated_at', m.updated_at, 'reason', i.reason,
        'outcome', i.outcome, 'note', i.note)
    FROM (SELECT recall_private.captions(m.tenant, ARRAY[m.id]) -> m.id::text AS title) c
$$;

-- whole_difference: the difference between two texts as a JSON array of [kind, text], without a comparison. The kind is
-- `same`, `removed` (only in the first text) or `added` (only in the second).
CREATE OR REPLACE FUNCTION recall_private.whole_difference(p_one text, p_two text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_one = p_two THEN jsonb_build_array(jsonb_build_array('same', p_one))
    ELSE jsonb_build_array(jsonb_build_array('removed', p_one), jsonb_build_array('added', p_two)) END;

-- dedupe_cluster: a cluster of a plan as JSON: its keeper, what merging copies, and the memories to merge, each with its
-- difference from the keeper, in the first p_characters of both texts. NULL if the keeper was deleted.
CREATE OR REPLACE FUNCTION recall_private.dedupe_cluster(p_plan recall.plan, p_cluster int, p_characters int) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'cluster', p_cluster,
        'keeper', recall_private.dedupe_member(i, k),
        'moves', recall_private.dedupe_moves(p_plan.tenant, k.id, ARRAY(
            SELECT o.memory_id FROM recall.plan_item o
            WHERE o.tenant = p_plan.tenant AND o.plan_id = p_plan.id AND o.place = p_cluster AND NOT o.keeper)),
        'members', coalesce((
            SELECT jsonb_agg(recall_private.dedupe_member(o, m) || jsonb_build_object(
                'similarity', o.similarity, 'difference', recall_private.whole_difference(
                    left(recall_private.whole_text(m.title, m.body), p_characters),
                    left(recall_private.whole_text(k.title, k.body), p_characters)))
                ORDER BY o.similarity DESC NULLS LAST, m.id)
            FROM recall.plan_item o JOIN recall.memory m ON m.tenant = o.tenant AND m.id = o.memory_id
            WHERE o.tenant = p_plan.tenant AND o.plan_id = p_plan.id AND o.place = p_cluster AND NOT o.keeper), '[]'))
    FROM recall.plan_item i JOIN recall.memory k ON k.tenant = i.tenant AND k.id = i.memory_id
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.place = p_cluster AND i.keeper
$$;

-- dedupe_plan_parts: the report and a page of the clusters of a dedupe plan, as JSON, and how many characters of each text
-- the differences have.
CREATE OR REPLACE FUNCTION recall_private.dedupe_plan_parts(p_plan recall.plan, p_limit int, p_offset int) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_captions jsonb;
    v_clusters int[];
    v_characters int;
BEGIN
    v_captions := recall_private.captions(p_plan.tenant, ARRAY(
        SELECT DISTINCT CASE WHEN pg_input_is_valid(r.id #>> '{}', 'bigint') THEN (r.id #>> '{}')::bigint END
        FROM jsonb_path_query(
            p_plan.report, '$.contradictions[*].keyvalue() ? (@.key == "src" || @.key == "dst").value') r(id)));
    v_clusters := ARRAY(
        SELECT i.place FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.keeper
        ORDER BY i.place LIMIT p_limit OFFSET p_offset);
    v_characters := (
        SELECT greatest(200, least(20000, 1000000 / greatest(1, count(*)))) FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND NOT i.keeper AND i.place = ANY (v_clusters));
    RETURN jsonb_build_object(
        'compared_characters', v_characters,
        'report', p_plan.report || jsonb_build_object('contradictions', (
            SELECT coalesce(jsonb_agg(e.value || jsonb_build_object(
                'src_title', v_captions -> (e.value ->> 'src') -> 'title', 'src_key', v_captions -> (e.value ->> 'src') -> 'key',
                'dst_title', v_captions -> (e.value ->> 'dst') -> 'title', 'dst_key', v_captions -> (e.value ->> 'dst') -> 'key')
                ORDER BY e.place), '[]')
            FROM jsonb_array_elements(p_plan.report -> 'contradictions') WITH ORDINALITY e(value, place)
            WHERE v_captions ? (e.value ->> 'src') AND v_captions ? (e.value ->> 'dst'))),
        'clusters', (
            SELECT coalesce(jsonb_agg(recall_private.dedupe_cluster(p_plan, u.cluster, v_characters) ORDER BY u.cluster), '[]')
            FROM unnest(v_clusters) u(cluster)));
END $$;
