-- The depth-first search over a graph in arrays, for the articulation points of the link graph and for prune plans.

-- depth_first_forest: a depth-first forest (Tarjan 1972, without recursion). Nodes are numbered from 1; p_weights has
-- their weights. Arc i leads from node p_sources[i] to node p_targets[i], and each link is two arcs. Several links
-- between two nodes count as one. For each node: parent (0 for a root), root, preorder `number`, `low` (the smallest
-- number that its subtree links to), `last` (the last number in its subtree), and `below` (the weight of its subtree).
-- `apart` is the weight of all subtrees that would be disconnected without the node, `largest` that of the heaviest.
CREATE OR REPLACE FUNCTION recall_private.depth_first_forest(
    p_weights int[], p_sources int[], p_targets int[],
    OUT parent int[], OUT root int[], OUT number int[], OUT low int[], OUT last int[], OUT below bigint[],
    OUT apart bigint[], OUT largest bigint[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    -- The arcs of a node are a chain, in their order: the next one to look at, and after each arc the next; 0 ends it.
    v_pending int[] := array_fill(0, ARRAY[coalesce(cardinality(p_weights), 0)]);
    v_after int[] := array_fill(0, ARRAY[coalesce(cardinality(p_sources), 0)]);
    v_count int := 0;
    v_at int;
    v_above int;
    v_next int;
    v_arc int;
    v_met int;
    v_low int;
    v_weight bigint;
BEGIN
    parent := v_pending;
    root := v_pending;
    number := v_pending;
    low := v_pending;
    last := v_pending;
    below := p_weights;
    apart := v_pending;
    largest := v_pending;
    FOR v_place IN REVERSE cardinality(v_after) .. 1 LOOP
        v_at := p_sources[v_place];
        v_after[v_place] := v_pending[v_at];
        v_pending[v_at] := v_place;
    END LOOP;
    FOR v_start IN 1 .. cardinality(parent) LOOP
        CONTINUE WHEN number[v_start] > 0;
        v_next := v_start;
        v_at := 0;
        <<tree>>
        LOOP
            -- Enters v_next. What is known of the node in hand is in variables, which cost less than arrays.
            v_count := v_count + 1;
            number[v_next] := v_count;
            root[v_next] := v_start;
            parent[v_next] := v_at;
            v_above := v_at;
            v_at := v_next;
            v_low := v_count;
            v_arc := v_pending[v_at];
            LOOP
                IF v_arc > 0 THEN
                    v_next := p_targets[v_arc];
                    v_arc := v_after[v_arc];
                    v_met := number[v_next];
                    EXIT WHEN v_met = 0;
                    IF v_met < v_low AND v_next <> v_above THEN
                        v_low := v_met;
                    END IF;
                ELSE
                    low[v_at] := v_low;
                    last[v_at] := v_count;
                    EXIT tree WHEN v_above = 0;
                    v_weight := below[v_at];
                    below[v_above] := below[v_above] + v_weight;
                    IF v_low >= number[v_above] THEN
                        apart[v_above] := apart[v_above] + v_weight;
                        IF v_weight > largest[v_above] THEN
                            largest[v_above] := v_weight;
                        END IF;
                    END IF;
                    IF low[v_above] < v_low THEN
                        v_low := low[v_above];
                    END IF;
                    v_at := v_above;
                    v_above := parent[v_at];
                    v_arc := v_pending[v_at];
                END IF;
            END LOOP;
            low[v_at] := v_low;
            v_pending[v_at] := v_arc;
        END LOOP;
    END LOOP;
END $$;
