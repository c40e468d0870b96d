-- Connectedness: which memories of a set can be archived together without disconnecting any that remain. Nodes are
-- live memories, numbered from 1 in the order of their ids; only references count as links. Nested loops are off
-- where arrays are joined, because the planner assumes ten elements for an array of any length.

-- spanning_forest: a maximum spanning forest of the links. The weight of a link is the lower worth of its two ends;
-- the worth of a memory is 2, that of a candidate its vitality (below 1). `piece` names the memories connected
-- without candidates, `component` those connected at all, each by its smallest node number. `degree` and
-- `neighbour_xor` (the xor of the neighbours) describe the edges of the forest outside pieces.
CREATE OR REPLACE FUNCTION recall_private.spanning_forest(
    p_tenant text, p_candidates bigint[], p_vitalities double precision[],
    OUT nodes bigint[], OUT worth double precision[], OUT piece int[], OUT component int[],
    OUT degree int[], OUT neighbour_xor int[]
)
LANGUAGE plpgsql STABLE
SET enable_nestloop = off AS $$
DECLARE
    v_from int;
    v_to int;
    v_one int;
    v_two int;
    v_worth double precision;
BEGIN
    SELECT coalesce(array_agg(m.id ORDER BY m.id), '{}'),
           coalesce(array_agg(coalesce(c.worth, 2) ORDER BY m.id), '{}')
    INTO nodes, worth
    FROM recall.memory m
    LEFT JOIN (
        SELECT u.id, max(least(u.vitality, 0.999999)) AS worth
        FROM unnest(p_candidates, p_vitalities) u(id, vitality) GROUP BY u.id) c ON c.id = m.id
    WHERE m.tenant = p_tenant AND m.archived_at IS NULL;
    degree := array_fill(0, ARRAY[cardinality(nodes)]);
    neighbour_xor := degree;
    component := ARRAY(SELECT generate_series(1, cardinality(nodes)));
    FOR v_from, v_to, v_worth IN
        WITH node AS MATERIALIZED (
            SELECT u.id, u.value, u.number::int AS number
            FROM unnest(nodes, worth) WITH ORDINALITY u(id, value, number)
        )
        SELECT s.number, d.number, least(s.value, d.value)
        FROM recall.link l JOIN node s ON s.id = l.src JOIN node d ON d.id = l.dst
        WHERE l.tenant = p_tenant AND recall_private.is_reference(l.relation)
        ORDER BY 3 DESC, 1, 2
    LOOP
        IF piece IS NULL AND v_worth < 2 THEN
            piece := component;
        END IF;
        v_one := v_from;
        WHILE component[v_one] <> v_one LOOP
            component[v_one] := component[component[v_one]];
            v_one := component[v_one];
        END LOOP;
        v_two := v_to;
        WHILE component[v_two] <> v_two LOOP
            component[v_two] := component[component[v_two]];
            v_two := component[v_two];
        END LOOP;
        CONTINUE WHEN v_one = v_two;
        component[greatest(v_one, v_two)] := least(v_one, v_two);
        CONTINUE WHEN v_worth = 2;
        degree[v_from] := degree[v_from] + 1;
        degree[v_to] := degree[v_to] + 1;
        neighbour_xor[v_from] := neighbour_xor[v_from] # v_to;
        neighbour_xor[v_to] := neighbour_xor[v_to] # v_from;
    END LOOP;
    component := recall_private.union_find_roots(component);
    piece := coalesce(recall_private.union_find_roots(piece), component);
END $$;

-- union_find_roots: replaces each union-find parent, which is never greater than its child, by the root.
CREATE OR REPLACE FUNCTION recall_private.union_find_roots(p_parents int[]) RETURNS int[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    v_roots int[] := p_parents;
BEGIN
    FOR v_at IN 1 .. cardinality(p_parents) LOOP
        v_roots[v_at] := v_roots[v_roots[v_at]];
    END LOOP;
    RETURN v_roots;
END $$;

-- removal_order: removes candidates (worth below 1) from the forest while one of them is a leaf, so that nothing is
-- disconnected. Returns the position of each node in the order of removal, NULL for a node that stays. Every prefix
-- of the order is safe. Low vitality goes first where the forest allows it.
CREATE OR REPLACE FUNCTION recall_private.removal_order(p_worth double precision[], p_degree int[], p_neighbour_xor int[])
RETURNS int[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_degree int[] := p_degree;
    v_neighbour_xor int[] := p_neighbour_xor;
    -- The highest worth of a node and of all nodes that must be removed before it.
    v_turn double precision[] := p_worth;
    v_gone int[] := array_fill(0, ARRAY[cardinality(p_worth)]);
    v_count int := 0;
    v_at int;
    v_next int;
BEGIN
    FOR v_at IN
        SELECT u.number FROM unnest(p_worth, p_degree) WITH ORDINALITY u(worth, degree, number)
        WHERE u.worth < 1 AND u.degree <= 1 ORDER BY u.worth, u.number
    LOOP
        WHILE v_gone[v_at] = 0 LOOP
            v_count := v_count + 1;
            v_gone[v_at] := v_count;
            EXIT WHEN v_degree[v_at] = 0;
            v_next := v_neighbour_xor[v_at];
            v_degree[v_next] := v_degree[v_next] - 1;
            v_neighbour_xor[v_next] := v_neighbour_xor[v_next] # v_at;
            v_turn[v_next] := greatest(v_turn[v_next], v_turn[v_at]);
            EXIT WHEN v_degree[v_next] > 1 OR v_turn[v_next] >= 1;
            v_at := v_next;
        END LOOP;
    END LOOP;
    RETURN ARRAY(
        SELECT CASE WHEN u.gone > 0 THEN row_number() OVER (ORDER BY u.gone = 0, u.turn, u.gone) END
        FROM unnest(v_turn, v_gone) WITH ORDINALITY u(turn, gone, number) ORDER BY u.number);
END $$;

-- keep_connected: which candidates can be archived without disconnecting a remaining memory. `nodes` are the ids of all
-- live memories. `removal` is the position in removal_order, NULL for memories that stay. `worth` is below 2 for
-- candidates; `piece` and `component` are those of spanning_forest. It is correct for every graph, but may keep more
-- candidates than necessary.
CREATE OR REPLACE FUNCTION recall_private.keep_connected(
    p_tenant text, p_candidates bigint[], p_vitalities double precision[],
    OUT nodes bigint[], OUT worth double precision[], OUT piece int[], OUT component int[], OUT removal int[]
)
LANGUAGE sql STABLE AS $$
    SELECT f.nodes, f.worth, f.piece, f.component, recall_private.removal_order(f.worth, f.degree, f.neighbour_xor)
    FROM recall_private.spanning_forest(p_tenant, p_candidates, p_vitalities) f
$$;

-- count_disconnected: how many other memories would leave the largest piece of their component if all candidates
-- were archived.
CREATE OR REPLACE FUNCTION recall_private.count_disconnected(p_worth double precision[], p_piece int[], p_component int[])
RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(c.memories - c.largest), 0)::bigint
    FROM (
        SELECT sum(p.memories) AS memories, max(p.memories) AS largest
        FROM (SELECT u.component, count(*) AS memories
              FROM unnest(p_worth, p_piece, p_component) u(worth, piece, component)
              WHERE u.worth = 2 GROUP BY u.component, u.piece) p
        GROUP BY p.component) c
$$;

-- contracted_graph: the links of the candidates that stay, after the others are removed, for depth_first_forest. Each
-- piece is one node: `pieces` has its name, `weights` its number of memories.
CREATE OR REPLACE FUNCTION recall_private.contracted_graph(
    p_tenant text, p_nodes bigint[], p_worth double precision[], p_piece int[], p_removal int[],
    OUT pieces int[], OUT weights int[], OUT sources int[], OUT targets int[]
)
LANGUAGE sql STABLE
SET enable_nestloop = off AS $$
    WITH node AS MATERIALIZED (
        SELECT u.id, u.piece, u.worth < 2 AS kept_back
        FROM unnest(p_nodes, p_worth, p_piece, p_removal) u(id, worth, piece, removal) WHERE u.removal IS NULL
    ), joined AS MATERIALIZED (
        SELECT s.piece AS one, d.piece AS two
        FROM recall.link l JOIN node s ON s.id = l.src JOIN node d ON d.id = l.dst
        WHERE l.tenant = p_tenant AND recall_private.is_reference(l.relation) AND (s.kept_back OR d.kept_back)
    ), arc AS MATERIALIZED (
        SELECT j.one, j.two FROM joined j UNION SELECT j.two, j.one FROM joined j
    ), numbered AS MATERIALIZED (
        SELECT n.piece, row_number() OVER (ORDER BY n.piece)::int AS number, count(*)::int AS memories
        FROM node n WHERE n.piece IN (SELECT a.one FROM arc a) GROUP BY n.piece
    )
    SELECT x.pieces, x.weights, y.sources, y.targets
    FROM (SELECT array_agg(n.piece ORDER BY n.number) AS pieces, array_agg(n.memories ORDER BY n.number) AS weights
          FROM numbered n) x
    CROSS JOIN (
        SELECT array_agg(o.number ORDER BY o.number, t.number) AS sources,
               array_agg(t.number ORDER BY o.number, t.number) AS targets
        FROM arc a JOIN numbered o ON o.piece = a.one JOIN numbered t ON t.piece = a.two) y
$$;

-- kept_back_candidates: the candidates that stay, with `cut_size`, the number of memories that archiving this one as
-- well would disconnect, and the ids of at most ten of them. Largest cut_size first. It is 0 if another candidate
-- could stay instead.
CREATE OR REPLACE FUNCTION recall_private.kept_back_candidates(
    p_tenant text, p_nodes bigint[], p_worth double precision[], p_piece int[], p_removal int[],
    p_limit int DEFAULT NULL
) RETURNS TABLE (memory_id bigint, cut_size bigint, examples bigint[])
LANGUAGE sql STABLE
SET search_path FROM CURRENT
SET enable_nestloop = off AS $$
    WITH tree AS MATERIALIZED (
        SELECT u.*, r.number AS first, r.below AS total
        FROM recall_private.contracted_graph(p_tenant, p_nodes, p_worth, p_piece, p_removal) c
        CROSS JOIN LATERAL recall_private.depth_first_forest(c.weights, c.sources, c.targets) w
        CROSS JOIN LATERAL unnest(
            c.pieces, c.weights, w.parent, w.root, w.number, w.low, w.last, w.below, w.apart, w.largest)
            WITH ORDINALITY u(piece, weight, parent, root, number, low, last, below, apart, largest, node)
        CROSS JOIN LATERAL (SELECT w.number[u.root] AS number, w.below[u.root] AS below) r
    ), hanging AS MATERIALIZED (
        SELECT p.node, t.number AS first, t.last, t.below AS memories
        FROM tree t JOIN tree p ON p.node = t.parent WHERE t.low >= p.number
    ), part AS (
        SELECT h.node, h.first, h.last, h.memories FROM hanging h
        UNION ALL
        SELECT t.node, t.first, t.number - 1, t.total - t.weight - t.apart FROM tree t WHERE t.parent > 0
    ), ranked AS MATERIALIZED (
        SELECT p.*, row_number() OVER (PARTITION BY p.node ORDER BY p.memories DESC, p.first) AS rank FROM part p
    ), stays AS MATERIALIZED (
        SELECT n.id, t.node,
               coalesce(t.total - t.weight - greatest(t.largest, t.total - t.weight - t.apart), 0) AS memories
        FROM unnest(p_nodes, p_worth, p_removal) WITH ORDINALITY n(id, worth, removal, number)
        LEFT JOIN tree t ON t.piece = n.number
        WHERE n.worth < 2 AND n.removal IS NULL
        ORDER BY 3 DESC, 1 LIMIT p_limit
    ), member AS MATERIALIZED (
        SELECT x.* FROM (
            SELECT u.piece, u.id, row_number() OVER (PARTITION BY u.piece ORDER BY u.id) AS place
            FROM unnest(p_nodes, p_piece, p_removal) u(id, piece, removal) WHERE u.removal IS NULL) x
        WHERE x.place <= 10
    ), seen AS (
        SELECT s.id, m.id AS other, row_number() OVER (PARTITION BY s.id ORDER BY m.id) AS place
        FROM stays s JOIN ranked r ON r.node = s.node AND r.rank > 1 AND r.memories > 0
        CROSS JOIN LATERAL generate_series(r.first, least(r.last, r.first + 9)) g(number)
        JOIN tree t ON t.number = g.number
        JOIN member m ON m.piece = t.piece
    )
    SELECT s.id, s.memories, coalesce(e.ids, '{}')
    FROM stays s
    LEFT JOIN (SELECT x.id, array_agg(x.other ORDER BY x.other) AS ids FROM seen x WHERE x.place <= 10 GROUP BY x.id) e
        ON e.id = s.id
    ORDER BY 2 DESC, 1
$$;
