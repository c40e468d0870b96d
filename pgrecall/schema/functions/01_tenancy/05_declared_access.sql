-- Who may do what. Roles other than the owner reach no table. They call the functions that declare themselves: the comment
-- above each begins with its name, the lowest role that may call it and its part of the reference. declared_functions
-- lists them. They act as the owner (SECURITY DEFINER) and read the tenant themselves. Row security on every table is the
-- second defence, for roles that an administrator lets read tables. Every upgrade applies the declaration; `pgrecall
-- doctor` compares it with the database.

-- declared_policies: the policies of every table that others than the owner may be allowed to read. A role sees and
-- changes the rows of its tenant, and sees rows of '*' where they apply to all tenants. The sub-select makes Postgres
-- call the function once for each query.
CREATE OR REPLACE FUNCTION recall_private.declared_policies()
RETURNS TABLE (relation oid, policy text, command text, condition text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT c.oid, p.policy, p.command, p.condition
    FROM pg_class c
    CROSS JOIN (VALUES
        ('own', 'ALL', '(tenant = ( SELECT current_tenant() AS current_tenant))'),
        ('shared', 'SELECT', '(tenant = ''*''::text)')) p(policy, command, condition)
    WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p')
      -- For the owner alone: bindings, digests of keys, sessions and tokens, readers, residents, and the table of Alembic.
      AND c.relname NOT IN ('tenant_role', 'api_key', 'page_session', 'oauth_grant', 'reader', 'resident', 'alembic_version')
      AND (p.policy = 'own' OR c.relname IN ('job_run', 'layer', 'relevance_model', 'rerank_model'))
      -- A table that somebody has put there may have none.
      AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant')
$$;

-- protect_table: enables row security and creates the declared policies on one table.
CREATE OR REPLACE FUNCTION recall_private.protect_table(p_table regclass) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_statement text;
BEGIN
    FOREACH v_statement IN ARRAY ARRAY(SELECT p.fix FROM recall_private.table_problems() p WHERE p.relation = p_table) LOOP
        EXECUTE v_statement;
    END LOOP;
END $$;

-- apply_declared_access: makes owners, rights, row security and policies agree with the declaration. Returns the number
-- of changes. Only for the owner; tables of roles that it may not act as stay as they are. It takes two passes, because a right
-- that is revoked as a whole may have to be granted again in part.
CREATE OR REPLACE FUNCTION recall_private.apply_declared_access() RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_changed int := 0;
    v_statement text;
BEGIN
    FOR v_pass IN 1 .. 2 LOOP
        FOREACH v_statement IN ARRAY ARRAY(
            SELECT p.fix FROM recall.access_problems() p WHERE p.ours AND p.fix <> ALL (ARRAY(
                SELECT f.fix FROM recall_private.table_problems() f JOIN pg_class c ON c.oid = f.relation
                WHERE NOT pg_has_role(c.relowner, 'USAGE')))) LOOP
            EXECUTE v_statement;
            v_changed := v_changed + 1;
        END LOOP;
    END LOOP;
    RETURN v_changed;
END $$;
