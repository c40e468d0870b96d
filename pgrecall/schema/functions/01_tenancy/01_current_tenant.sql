-- The tenant that a transaction acts for.

-- current_tenant (reader; Tenant and language): the tenant that this transaction reads and writes. It is the tenant
-- that the login role is bound to. A role that may name any tenant (bind_role allowed it, or it may act as the owner of
-- this schema) names it with `SET LOCAL recall.tenant`. Raises an error for other roles, if no tenant is named, and for
-- a tenant in another cell. The login role decides, because current_user is the owner inside functions of the owner; so
-- SET ROLE changes nothing. With `SET LOCAL recall.shared_tenant`, a READ ONLY transaction reads another tenant
-- instead, which that one has shared with this tenant (add_reader).
CREATE OR REPLACE FUNCTION recall.current_tenant() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall_private.named_tenant();
BEGIN
    IF current_setting('recall.shared_tenant', true) <> '' THEN
        v_tenant := recall_private.shared_tenant(v_tenant);
    END IF;
    -- in_cells() is a constant while this database is the only cell, so the check costs nothing.
    IF recall_private.in_cells() THEN
        IF NOT EXISTS (SELECT FROM recall.resident r WHERE r.tenant = v_tenant AND r.state = 'here') THEN
            PERFORM recall_private.require_resident(v_tenant);
        END IF;
    END IF;
    RETURN v_tenant;
END $$;

-- named_tenant: the tenant that the login role is bound to, or that a role names which may name any, wherever it lives.
CREATE OR REPLACE FUNCTION recall_private.named_tenant() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    v_tenant text := (SELECT r.tenant FROM recall.tenant_role r WHERE r.role = session_user);
BEGIN
    IF v_tenant IS NULL AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
        PERFORM recall_private.raise_denied(
            format('Role %s is bound to no tenant and may not name one', session_user),
            format('An administrator runs: SELECT recall.bind_role(%L, ''the-tenant'');', session_user));
    ELSIF v_tenant IS NULL OR v_tenant = '*' THEN
        v_tenant := nullif(current_setting('recall.tenant', true), '');
        IF v_tenant IS NULL OR v_tenant = '*' THEN
            PERFORM recall_private.raise_invalid(
                'No tenant is set for this transaction.',
                'Run: SELECT set_config(''recall.tenant'', ''your-tenant'', true);');
        END IF;
    END IF;
    RETURN v_tenant;
END $$;

-- shared_tenant: the tenant that the setting recall.shared_tenant names. Raises an error unless it is shared with p_reader, and
-- unless the transaction is read-only. Whether there is such a tenant makes no difference to what is not shared.
CREATE OR REPLACE FUNCTION recall_private.shared_tenant(p_reader text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    v_shared text := current_setting('recall.shared_tenant');
BEGIN
    IF NOT EXISTS (SELECT FROM recall.reader r WHERE r.tenant = v_shared AND r.reader = p_reader) THEN
        PERFORM recall_private.raise_denied(
            format('Tenant %s is not shared with tenant %s', left(v_shared, 200), p_reader),
            'Whoever owns it adds this one as a reader: `pgrecall readers add`.');
    ELSIF NOT current_setting('transaction_read_only')::boolean THEN
        PERFORM recall_private.raise_denied(
            format('Tenant %s is shared with tenant %s for reading only', v_shared, p_reader),
            'Begin the transaction with READ ONLY to read it, or without recall.shared_tenant to write to your own tenant.');
    END IF;
    RETURN v_shared;
END $$;

-- own_tenant: as current_tenant, for what no reader may see: raises an error for a tenant that is shared.
CREATE OR REPLACE FUNCTION recall_private.own_tenant() RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    IF current_setting('recall.shared_tenant', true) <> '' THEN
        PERFORM recall_private.raise_denied(format('A reader of tenant %s may not see its keys and readers', v_tenant),
            'Ask without recall.shared_tenant for those of your own tenant.');
    END IF;
    RETURN v_tenant;
END $$;

-- bound_tenant: the tenant that the login role is bound to; '*' if it may name any, NULL if it may name none.
-- Called as the owner.
CREATE OR REPLACE FUNCTION recall_private.bound_tenant() RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(
        (SELECT r.tenant FROM recall.tenant_role r WHERE r.role = session_user),
        CASE WHEN pg_has_role(session_user, current_user, 'MEMBER') THEN '*' END);
END $$;

-- require_any_tenant: raises an error unless the login role may name any tenant. For actions that concern the whole
-- database.
CREATE OR REPLACE FUNCTION recall_private.require_any_tenant(p_action text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF recall_private.bound_tenant() IS DISTINCT FROM '*' THEN
        PERFORM recall_private.raise_denied(
            format('Role %s may not %s: that concerns all tenants', session_user, p_action),
            format('Use a role that may name any tenant; an administrator runs: SELECT recall.bind_role(%L, ''*'');',
                   session_user));
    END IF;
END $$;
