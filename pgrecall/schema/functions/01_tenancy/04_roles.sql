-- Login roles and the tenants they act for. For administrators: roles that may act as the owner of this schema.

-- bind_role (owner; Roles for administrators): binds a login role to one tenant, whatever tenant it sets. '*' lets it
-- name any tenant, for services that serve many. Replaces an earlier binding. Returns whether anything changed. The
-- role must also be a member of recall_reader, recall_app or recall_worker. A tenant that is bound for the first time
-- gets its own lock rows.
CREATE OR REPLACE FUNCTION recall.bind_role(p_role text, p_to_tenant text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_changed boolean;
BEGIN
    IF coalesce(p_to_tenant, '') = '' THEN
        PERFORM recall_private.raise_invalid('The tenant to bind to is empty.', 'Name one, or give * for a role that may name any.');
    ELSIF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = p_role) THEN
        PERFORM recall_private.raise_invalid(format('There is no role %L on this server.', left(p_role, 100)), 'Create it first.');
    ELSIF EXISTS (
        SELECT FROM pg_roles r WHERE r.rolname = p_role AND (
            r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, current_user, 'MEMBER'))) THEN
        PERFORM recall_private.raise_invalid(
            format('Role %s is a superuser, bypasses row security or may act as the owner, so a binding would not restrict it.', p_role),
            'Bind a role without these rights.');
    END IF;
    INSERT INTO recall.tenant_role AS r (tenant, role) VALUES (p_to_tenant, p_role)
    ON CONFLICT (role) DO UPDATE SET tenant = excluded.tenant, bound_at = excluded.bound_at
    WHERE r.tenant <> excluded.tenant;
    v_changed := FOUND;
    IF p_to_tenant <> '*' THEN
        PERFORM recall_private.lock_tenant(p_to_tenant, 'rules'), recall_private.lock_tenant(p_to_tenant, 'vectors');
    END IF;
    RETURN v_changed;
END $$;

-- unbind_role (owner; Roles for administrators): removes the binding of a role, which may then act for no tenant.
-- Returns false if there was none.
CREATE OR REPLACE FUNCTION recall.unbind_role(p_role text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall.tenant_role r WHERE r.role = p_role;
    RETURN FOUND;
END $$;

-- role_rights: the highest right of a role: worker, app, reader or nothing.
CREATE OR REPLACE FUNCTION recall_private.role_rights(p_role oid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT k.name FROM (VALUES ('worker', 1), ('app', 2), ('reader', 3)) k(name, place)
        WHERE pg_has_role(p_role, to_regrole('recall_' || k.name), 'USAGE') ORDER BY k.place LIMIT 1), 'nothing')
$$;

-- role_bindings (owner; Roles for administrators): every binding, by role: its tenant ('*' means any), when it was
-- bound, whether the role exists, whether it can log in, and its highest right: reader, app, worker or nothing.
CREATE OR REPLACE FUNCTION recall.role_bindings()
RETURNS TABLE (role text, tenant text, bound_at timestamptz, present boolean, may_log_in boolean, may text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.role, r.tenant, r.bound_at, p.oid IS NOT NULL, coalesce(p.rolcanlogin, false), recall_private.role_rights(p.oid)
    FROM recall.tenant_role r LEFT JOIN pg_roles p ON p.rolname = r.role ORDER BY r.role
$$;

-- caller (reader; Roles for administrators): the login role of this session: whether it is a superuser, bypasses row
-- security, or may act as the owner (`administers`); the tenant it acts for ('*' means any that it names, NULL means
-- none); and its highest right.
CREATE OR REPLACE FUNCTION recall.caller()
RETURNS TABLE (
    role text, superuser boolean, bypasses boolean, administers boolean, tenant text, may text, owner text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.rolname::text, r.rolsuper, r.rolbypassrls, pg_has_role(r.oid, current_user, 'MEMBER'),
           recall_private.bound_tenant(), recall_private.role_rights(r.oid), current_user::text
    FROM pg_roles r WHERE r.rolname = session_user
$$;
