-- Readers: tenants that may read another tenant, which has shared itself with them. The shared tenant decides who may read it;
-- a reader decides whether it does, by naming the shared tenant in a transaction. A row belongs to the shared tenant and moves
-- with it. It gives its reader what recall_reader may do there, never more: Postgres refuses every write, because the
-- transaction is READ ONLY, and no transaction can leave that state after its first query. With may_share, a reader may
-- also copy memories of its own into the shared tenant (share), which is all that it may write there.

-- add_reader (app; Readers of a shared tenant): lets another tenant read this one, and with p_may_share copy memories
-- of its own into it, from its next statement on. Repeated, it sets p_may_share. Returns false if nothing changed.
CREATE OR REPLACE FUNCTION recall.add_reader(
    p_reader text, p_now timestamptz DEFAULT now(), p_may_share boolean DEFAULT false
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall_private.own_tenant();
BEGIN
    PERFORM recall_private.require_moment(p_now);
    IF coalesce(length(p_reader), 0) NOT BETWEEN 1 AND 200 OR p_reader = '*' THEN
        PERFORM recall_private.raise_invalid('A reader is one tenant, named by 1 to 200 characters.', 'Name one, not *.');
    ELSIF p_reader = v_tenant THEN
        PERFORM recall_private.raise_invalid(format('Tenant %s reads itself already.', v_tenant), 'Name another tenant.');
    ELSIF p_may_share IS NULL THEN
        PERFORM recall_private.raise_invalid('p_may_share is NULL; it must be true or false.');
    ELSIF (SELECT count(*) FROM recall.reader r WHERE r.tenant = v_tenant AND r.reader <> p_reader) >= 1000 THEN
        PERFORM recall_private.raise_invalid('A tenant has at most 1,000 readers.', 'Remove one first.');
    END IF;
    INSERT INTO recall.reader AS r (tenant, reader, since, may_share) VALUES (v_tenant, p_reader, p_now, p_may_share)
    ON CONFLICT (tenant, reader) DO UPDATE SET may_share = excluded.may_share
    WHERE r.may_share <> excluded.may_share;
    RETURN FOUND;
END $$;

-- remove_reader (app; Readers of a shared tenant): ends what add_reader began, from the reader's next transaction on.
-- Returns false if it could not read.
CREATE OR REPLACE FUNCTION recall.remove_reader(p_reader text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall.reader r WHERE r.tenant = recall_private.own_tenant() AND r.reader = p_reader;
    RETURN FOUND;
END $$;

-- readers (app; Readers of a shared tenant): the tenants that may read this one, by name, since when, and whether they
-- may copy memories into it.
CREATE OR REPLACE FUNCTION recall.readers() RETURNS TABLE (reader text, since timestamptz, may_share boolean)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.reader, r.since, r.may_share FROM recall.reader r
    WHERE r.tenant = (SELECT recall_private.own_tenant()) ORDER BY r.reader
$$;
