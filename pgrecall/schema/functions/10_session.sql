-- Who is asking, and how functions refuse: the ground every other function stands on.

-- current_tenant: whose memories this transaction reads and writes: the tenant that its login role is bound to, whatever
-- it sets; else the one named by `SET LOCAL recall.tenant`, if the role may name any (it was told so by bind_role, or it
-- may act as the owner of this schema, to whom nothing is closed). An error for other roles, and without a name. The
-- login role counts: SET ROLE changes nothing, and inside functions of the owner current_user is the owner.
CREATE OR REPLACE FUNCTION recall.current_tenant() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := (SELECT r.tenant FROM recall.tenant_role r WHERE r.role = session_user);
BEGIN
    IF v_tenant <> '*' THEN
        RETURN v_tenant;
    ELSIF v_tenant IS NULL AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
        PERFORM recall.refuse(
            format('Role %s is bound to no tenant and may not name one', session_user),
            format('An administrator runs: SELECT recall.bind_role(%L, ''the-tenant'');', session_user));
    END IF;
    v_tenant := nullif(current_setting('recall.tenant', true), '');
    IF v_tenant IS NULL OR v_tenant = '*' THEN
        PERFORM recall.reject(
            'No tenant is set for this transaction.',
            'Run: SELECT set_config(''recall.tenant'', ''your-tenant'', true);');
    END IF;
    RETURN v_tenant;
END $$;

-- binding: the tenant that the login role is bound to; '*' where it may name any, NULL where it may name none. Called
-- as the owner.
CREATE OR REPLACE FUNCTION recall.binding() RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN coalesce(
        (SELECT r.tenant FROM recall.tenant_role r WHERE r.role = session_user),
        CASE WHEN pg_has_role(session_user, current_user, 'MEMBER') THEN '*' END);
END $$;

-- require_whole: raises unless the login role may name any tenant: for what concerns the whole database.
CREATE OR REPLACE FUNCTION recall.require_whole(p_what text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    IF recall.binding() IS DISTINCT FROM '*' THEN
        PERFORM recall.refuse(
            format('Role %s may not %s: that concerns all tenants', session_user, p_what),
            format('Use a role that may name any tenant; an administrator runs: SELECT recall.bind_role(%L, ''*'');',
                   session_user));
    END IF;
END $$;

-- salt_of_locks: one row, what keys of advisory locks are salted with: whoever watches locks or guesses names cannot tell
-- whose they are. Inlined.
CREATE OR REPLACE FUNCTION recall.salt_of_locks() RETURNS TABLE (salt bigint)
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT coalesce((
        SELECT (s.value #>> '{}')::bigint FROM recall.setting s
        WHERE s.tenant = '*' AND s.name = 'lock.salt'), 0);  -- without one there would be no lock
END;

-- salted: the key of an advisory lock for something of a tenant. Inlined.
CREATE OR REPLACE FUNCTION recall.salted(p_what text, p_tenant text, p_salt bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended(p_what || ' ' || p_tenant, p_salt);

-- lock_key: the same, with the salt of this database.
CREATE OR REPLACE FUNCTION recall.lock_key(p_what text, p_tenant text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (SELECT recall.salted(p_what, p_tenant, s.salt) FROM recall.salt_of_locks() s);
END $$;

-- refuse: raises insufficient_privilege with a sentence (its full stop comes with it) and the way out; never returns.
CREATE OR REPLACE FUNCTION recall.refuse(p_sentence text, p_hint text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = p_sentence || '.', HINT = p_hint;
END $$;

-- reject: raises invalid_parameter_value with a sentence and the way out; never returns.
CREATE OR REPLACE FUNCTION recall.reject(p_sentence text, p_hint text DEFAULT '') RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = p_sentence, HINT = p_hint;
END $$;

-- epoch: seconds since 1970-01-01 UTC, as the activation summary keeps them.
CREATE OR REPLACE FUNCTION recall.epoch(p_at timestamptz) RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.date_part('epoch', p_at);

-- finite: the same moment; an error for NULL, for the infinities, at which nothing can be computed, and outside of the
-- years 1 to 9999, which clients cannot read.
CREATE OR REPLACE FUNCTION recall.finite(p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT coalesce(isfinite(p_now), false) THEN
        PERFORM recall.reject(format('p_now is %s; it must be a moment.', coalesce(p_now::text, 'NULL')));
    ELSIF p_now < '0001-01-01 00:00:00+00' OR p_now >= '10000-01-01 00:00:00+00' THEN
        PERFORM recall.reject(format('p_now is %s; it must lie in the years 1 to 9999.', p_now));
    END IF;
    RETURN p_now;
END $$;

-- at_most: the same number; an error for one below 0, of which Postgres would speak in its own words. NULL is no limit.
CREATE OR REPLACE FUNCTION recall.at_most(p_limit int) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF p_limit < 0 THEN
        PERFORM recall.reject(format('p_limit is %s; it must not be negative.', p_limit));
    END IF;
    RETURN p_limit;
END $$;

-- flat: the same array; an error for one of several dimensions.
CREATE OR REPLACE FUNCTION recall.flat(p_values anyarray) RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF array_ndims(p_values) > 1 THEN
        PERFORM recall.reject(format('An array of %s dimensions was given; it must have one.', array_ndims(p_values)));
    END IF;
    RETURN p_values;
END $$;
