-- Objects of the router that only the coordinator has. This file can be run repeatedly.

-- The key of each cell.
CREATE TABLE IF NOT EXISTS recall_router.route (
    cell bigint PRIMARY KEY,
    key recall_router.key NOT NULL UNIQUE
);

-- require_plain: raises an error for statements that Citus might take for a plain call but cannot send. It crashes on those
-- that its planner has simplified to a call, such as SELECT * FROM (SELECT * FROM f()) s (citusdata/citus issue 7242). A
-- statement must be one SELECT of one wrapper. Text that looks like a literal must be one, so that nothing can hide in it:
-- hence no backslash, no comment and no dollar quote.
CREATE OR REPLACE FUNCTION recall_router.require_plain(p_statement text) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_code text := lower(regexp_replace(p_statement, '''[^'']*''|"[^"]*"', ' x ', 'g'));
BEGIN
    IF strpos(p_statement, '\') > 0 OR v_code ~ '--|/\*|\$(\D|$)' OR v_code ~ ';\s*\S' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'The router takes no comments, backslashes, dollar quotes or second statements.',
            HINT = 'Give values as parameters.';
    ELSIF (v_code ~ '^\s*select\M.*\mrecall_router\.[a-z_]+\s*\(') IS NOT TRUE
          OR v_code ~ '\mselect\M.*\mselect\M' OR v_code ~ '\mfrom\M(?!\s+recall_router\.[a-z_]+\s*\()'
          OR v_code ~ '\m(values|table|ordinality|union|intersect|except|into)\M' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'This statement cannot be sent to the cell of a tenant.',
            HINT = 'Write SELECT ... FROM recall_router.search(''tenant'', ...) or SELECT recall_router.pin(''tenant'', ...), alone.';
    END IF;
END $$;

-- key_of: the key of the cell where a tenant lives, according to the directory. Citus casts the tenant of a call to its key
-- while it plans, which requires an immutable function. It is not really immutable: a statement that was prepared with the
-- tenant as a constant still goes to the cell where the tenant was, and that cell refuses it.
CREATE OR REPLACE FUNCTION recall_router.key_of(p_tenant text) RETURNS recall_router.key
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_key recall_router.key;
BEGIN
    -- Citus crashes on NULL.
    IF p_tenant IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'The statement names no tenant.',
            HINT = 'Give the tenant as the first argument.';
    END IF;
    PERFORM recall_router.require_plain(current_query());
    PERFORM recall_cells.require_allowed(p_tenant);
    v_key := (SELECT r.key FROM recall_cells.place p JOIN recall_router.route r ON r.cell = p.cell WHERE p.tenant = p_tenant);
    IF v_key IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('The router knows no cell of tenant %s.', p_tenant),
            HINT = 'For a new tenant: SELECT recall_cells.place_tenant(''name''), then SELECT recall_router.admit_tenant(''name''). '
                   'For one in a new cell: pgrecall router upgrade.';
    END IF;
    RETURN v_key;
END $$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_cast c WHERE c.castfunc = 'recall_router.key_of(text)'::regprocedure) THEN
        CREATE CAST (text AS recall_router.key) WITH FUNCTION recall_router.key_of(text) AS ASSIGNMENT;
    END IF;
END $$;

-- refuse_rebalance: raises an error when the rebalancer of Citus asks for the capacity of a node. It would move the shards
-- by which calls find their cell, without the tenants.
CREATE OR REPLACE FUNCTION recall_router.refuse_rebalance(p_node int) RETURNS real
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
        MESSAGE = 'Citus cannot rebalance cells: it would move the routes to tenants, but not the tenants.',
        HINT = 'Run: pgrecall cell balance --plan';
END $$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_dist_rebalance_strategy s WHERE s.name = 'recall_router') THEN
        PERFORM citus_add_rebalance_strategy('recall_router', 'citus_shard_cost_1', 'recall_router.refuse_rebalance',
                                             'citus_shard_allowed_on_node_true', 0);
    END IF;
    PERFORM citus_set_default_rebalance_strategy('recall_router');
END $$;

-- The group roles of the login roles that may use the router.
DO $$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['recall_reader', 'recall_app', 'recall_worker'] LOOP
        IF to_regrole(v_role) IS NULL THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
        END IF;
    END LOOP;
END $$;

-- A role that may create objects here could hide a call in one.
DO $$ BEGIN EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA recall_router FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recall_router.key_of(text), recall_router.enter(text, boolean)
    TO recall_reader, recall_app, recall_worker;
