-- Keys of advisory locks.

-- lock_salt: one row: the salt of advisory lock keys, so that nobody who watches locks or guesses names can tell
-- tenants apart. Inlined.
CREATE OR REPLACE FUNCTION recall.lock_salt() RETURNS TABLE (salt bigint)
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT coalesce((
        SELECT (s.value #>> '{}')::bigint FROM recall.setting s
        WHERE s.tenant = '*' AND s.name = 'lock.salt'), 0);  -- without one there would be no lock
END;

-- salted_lock_key: the key of an advisory lock for one purpose and tenant. Inlined.
CREATE OR REPLACE FUNCTION recall.salted_lock_key(p_purpose text, p_tenant text, p_salt bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended(p_purpose || ' ' || p_tenant, p_salt);

-- lock_key: the key of an advisory lock with the salt of this database.
CREATE OR REPLACE FUNCTION recall.lock_key(p_purpose text, p_tenant text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (SELECT recall.salted_lock_key(p_purpose, p_tenant, s.salt) FROM recall.lock_salt() s);
END $$;
