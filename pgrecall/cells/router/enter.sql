-- Every node has this function; each upgrade of the router replaces it.

-- enter: makes the rest of the transaction act for a tenant, in the cell where the call of a wrapper has arrived. Raises an
-- error if that is not a cell, because then Citus could not send the statement; if the tenant does not live there; and if
-- the login role may not act for it. A call that admits a new tenant comes before the tenant lives anywhere.
CREATE OR REPLACE FUNCTION recall_router.enter(p_tenant text, p_admitted boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF to_regnamespace('recall') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'This statement cannot be sent to the cell of a tenant.',
            HINT = 'Write SELECT ... FROM recall_router.search(''tenant'', ...) or SELECT recall_router.pin(''tenant'', ...): one '
                   'function, a constant or parameter as the tenant, and no WHERE, join or sub-select around it.';
    END IF;
    PERFORM set_config('recall.tenant', p_tenant, true);
    IF p_admitted AND recall.current_tenant() IS DISTINCT FROM p_tenant THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('Role %s may not act for tenant %s.', session_user, p_tenant),
            HINT = 'Ask for the tenant that the role is bound to.';
    END IF;
END $$;
