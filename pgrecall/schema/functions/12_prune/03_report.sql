-- The report of a prune plan, and reading it with a page of its items.

-- vitality_distribution: live memories by layer and zone, and by vitality in 20 bins of 0.05.
CREATE OR REPLACE FUNCTION recall_private.vitality_distribution(p_tenant text, p_now timestamptz) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    WITH live AS MATERIALIZED (
        SELECT v.layer, v.zone, least(floor(v.vitality * 20), 19) AS bin, count(*) AS memories
        FROM recall_private.live_memories(p_tenant, p_now) v GROUP BY 1, 2, 3
    ), zoned AS (
        SELECT z.layer, jsonb_object_agg(z.zone, z.memories) AS zones
        FROM (SELECT l.layer, l.zone, sum(l.memories) AS memories FROM live l GROUP BY 1, 2) z GROUP BY z.layer
    )
    SELECT jsonb_build_object(
        'zones', (SELECT coalesce(jsonb_object_agg(z.layer, z.zones), '{}') FROM zoned z),
        'histogram', (
            SELECT jsonb_agg(coalesce(b.memories, 0) ORDER BY g.bin)
            FROM generate_series(0, 19) g(bin)
            LEFT JOIN (SELECT l.bin, sum(l.memories) AS memories FROM live l GROUP BY 1) b ON b.bin = g.bin))
$$;

-- ending_links: how many references end when these memories are archived, the first 500 of them in the order of the
-- plan, and the live memories that remain at their other ends.
CREATE OR REPLACE FUNCTION recall_private.ending_links(p_tenant text, p_planned bigint[], p_now timestamptz) RETURNS jsonb
LANGUAGE sql STABLE
SET enable_nestloop = off AS $$
    WITH planned AS MATERIALIZED (
        SELECT u.id, u.place FROM unnest(p_planned) WITH ORDINALITY u(id, place)
    ), ending AS MATERIALIZED (
        SELECT l.src, l.dst, l.relation, least(s.place, d.place) AS place
        FROM recall.link l
        LEFT JOIN planned s ON s.id = l.src
        LEFT JOIN planned d ON d.id = l.dst
        JOIN recall.memory one ON one.tenant = p_tenant AND one.id = l.src AND one.archived_at IS NULL
        JOIN recall.memory two ON two.tenant = p_tenant AND two.id = l.dst AND two.archived_at IS NULL
        WHERE l.tenant = p_tenant AND recall_private.is_reference(l.relation)
          AND (s.id IS NOT NULL OR d.id IS NOT NULL)
    ), shown AS MATERIALIZED (
        SELECT e.* FROM ending e ORDER BY e.place, e.src, e.dst, e.relation LIMIT 500
    ), neighbour AS (
        SELECT s.src AS id FROM shown s UNION SELECT s.dst FROM shown s EXCEPT SELECT p.id FROM planned p
    )
    SELECT jsonb_build_object(
        'links_ending', (SELECT count(*) FROM ending),
        'links', (SELECT coalesce(jsonb_agg(jsonb_build_array(s.src, s.dst, s.relation)
                                            ORDER BY s.place, s.src, s.dst, s.relation), '[]') FROM shown s),
        'neighbours', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'id', v.memory_id, 'layer', v.layer, 'vitality', v.vitality, 'zone', v.zone,
                'protected', a.protected) ORDER BY v.memory_id), '[]')
            FROM recall_private.live_memories(p_tenant, p_now, p_ids => ARRAY(SELECT n.id FROM neighbour n)) v
            JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = v.memory_id))
$$;

-- communities: live memories grouped around hubs. Each memory joins its neighbour with the most links, if that has
-- more links than itself (the smaller id if equal), and so on up to a hub. Returns the 20 communities with the lowest
-- mean vitality: their number of memories, how many are planned, and the three with the most links.
CREATE OR REPLACE FUNCTION recall_private.communities(p_tenant text, p_planned bigint[], p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET enable_nestloop = off AS $$
DECLARE
    v_ids bigint[];
    v_leaders int[];
BEGIN
    WITH arc AS MATERIALIZED (
        SELECT DISTINCT least(l.src, l.dst) AS one, greatest(l.src, l.dst) AS two
        FROM recall.link l
        JOIN recall.memory s ON s.tenant = p_tenant AND s.id = l.src AND s.archived_at IS NULL
        JOIN recall.memory d ON d.tenant = p_tenant AND d.id = l.dst AND d.archived_at IS NULL
        WHERE l.tenant = p_tenant AND recall_private.is_reference(l.relation)
    ), neighbour AS MATERIALIZED (
        SELECT a.one, a.two FROM arc a UNION ALL SELECT a.two, a.one FROM arc a
    ), ranked AS MATERIALIZED (
        SELECT b.one AS id, row_number() OVER (ORDER BY count(*) DESC, b.one)::int AS rank
        FROM neighbour b GROUP BY b.one
    ), led AS (
        SELECT o.id, o.rank, least(o.rank, min(t.rank)) AS leader
        FROM neighbour b JOIN ranked o ON o.id = b.one JOIN ranked t ON t.id = b.two GROUP BY o.id, o.rank
    )
    SELECT array_agg(l.id ORDER BY l.rank), array_agg(l.leader ORDER BY l.rank) INTO v_ids, v_leaders FROM led l;
    RETURN (
        SELECT coalesce(jsonb_agg(to_jsonb(c) - 'hub' ORDER BY c.mean_vitality, c.hub), '[]')
        FROM (
            SELECT u.hub, count(*) AS memories, count(p.id) AS planned, avg(v.vitality) AS mean_vitality,
                   (array_agg(u.id ORDER BY u.rank))[1:3] AS examples
            FROM unnest(v_ids, recall_private.union_find_roots(v_leaders)) WITH ORDINALITY u(id, hub, rank)
            JOIN recall_private.live_memories(p_tenant, p_now) v ON v.memory_id = u.id
            LEFT JOIN unnest(p_planned) p(id) ON p.id = u.id
            GROUP BY u.hub HAVING count(*) > 1 ORDER BY avg(v.vitality), u.hub LIMIT 20) c);
END $$;

-- captions: by id, the title (or the beginning of the text), key and layer of these memories.
CREATE OR REPLACE FUNCTION recall_private.captions(p_tenant text, p_ids bigint[]) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_object_agg(m.id, jsonb_build_object(
        'key', m.key, 'layer', m.layer, 'title', CASE WHEN m.title <> '' THEN m.title
        ELSE left(btrim(regexp_replace(left(m.body, 400), '[[:space:]]+', ' ', 'g')), 80) END)), '{}')
    FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = ANY (p_ids)
$$;

-- with_captions: adds captions to objects with ids, or to bare ids, in their order; optionally keys too. Deleted
-- memories are omitted.
CREATE OR REPLACE FUNCTION recall_private.with_captions(p_captions jsonb, p_entries jsonb, p_with_keys boolean DEFAULT false)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(jsonb_agg(
        o.entry || jsonb_build_object('title', p_captions -> (o.entry ->> 'id') -> 'title')
        || CASE WHEN p_with_keys THEN jsonb_build_object('key', p_captions -> (o.entry ->> 'id') -> 'key')
           ELSE '{}' END ORDER BY e.place), '[]')
    FROM jsonb_array_elements(p_entries) WITH ORDINALITY e(value, place)
    CROSS JOIN LATERAL (
        SELECT CASE jsonb_typeof(e.value) WHEN 'object' THEN e.value
               ELSE jsonb_build_object('id', e.value) END AS entry) o
    WHERE p_captions ? (o.entry ->> 'id')
$$;

-- report_with_captions: the report of a plan with captions. It is stored without them, so that deleting a memory
-- deletes its words from every plan.
CREATE OR REPLACE FUNCTION recall_private.report_with_captions(p_captions jsonb, p_report jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_report || jsonb_build_object(
        'kept_back', (
            SELECT coalesce(jsonb_agg(e.value || jsonb_build_object(
                'examples', recall_private.with_captions(p_captions, e.value -> 'examples')) ORDER BY e.place), '[]')
            FROM jsonb_array_elements(recall_private.with_captions(p_captions, p_report -> 'kept_back', true))
                WITH ORDINALITY e(value, place)),
        'neighbours', recall_private.with_captions(p_captions, p_report -> 'neighbours', true),
        'links', (
            SELECT coalesce(jsonb_agg(e.value ORDER BY e.place), '[]')
            FROM jsonb_array_elements(p_report -> 'links') WITH ORDINALITY e(value, place)
            WHERE p_captions ? (e.value ->> 0) AND p_captions ? (e.value ->> 1)),
        'communities', (
            SELECT coalesce(jsonb_agg(e.value || jsonb_build_object(
                'examples', jsonb_path_query_array(
                    recall_private.with_captions(p_captions, e.value -> 'examples'), '$[*].title')) ORDER BY e.place), '[]')
            FROM jsonb_array_elements(p_report -> 'communities') WITH ORDINALITY e(value, place)))
$$;

-- prune_items_page: stored items of a prune plan, in their order.
CREATE OR REPLACE FUNCTION recall_private.prune_items_page(p_plan recall.plan, p_limit int, p_offset int)
RETURNS SETOF recall.plan_item
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT x.* FROM recall.plan_item x WHERE x.tenant = p_plan.tenant AND x.plan_id = p_plan.id
    ORDER BY x.place LIMIT p_limit OFFSET p_offset
$$;

-- prune_plan_parts: the report and a page of the items of a prune plan, as JSON.
CREATE OR REPLACE FUNCTION recall_private.prune_plan_parts(p_plan recall.plan, p_limit int, p_offset int) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_captions jsonb;
BEGIN
    v_captions := recall_private.captions(p_plan.tenant, ARRAY(
        SELECT r.id::bigint FROM unnest(ARRAY[
            '$.kept_back[*].id', '$.kept_back[*].examples[*]', '$.neighbours[*].id', '$.links[*][0 to 1]',
            '$.communities[*].examples[*]']::jsonpath[]) p(path)
        CROSS JOIN LATERAL jsonb_path_query(p_plan.report, p.path) r(id)
        UNION SELECT i.memory_id FROM recall_private.prune_items_page(p_plan, p_limit, p_offset) i
        UNION SELECT e.id::bigint FROM recall_private.prune_items_page(p_plan, p_limit, p_offset) i
        CROSS JOIN LATERAL jsonb_path_query(i.impact, '$.ends[*].id') e(id)));
    RETURN jsonb_build_object(
        'report', recall_private.report_with_captions(v_captions, p_plan.report),
        'items', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'id', i.memory_id, 'place', i.place, 'vitality', i.vitality, 'terms', i.terms,
                'reason', i.reason, 'outcome', i.outcome, 'note', i.note,
                'impact', i.impact || jsonb_build_object(
                    'ends', recall_private.with_captions(v_captions, i.impact -> 'ends')))
                || (v_captions -> i.memory_id::text) ORDER BY i.place), '[]')
            FROM recall_private.prune_items_page(p_plan, p_limit, p_offset) i
            WHERE v_captions ? i.memory_id::text));
END $$;
