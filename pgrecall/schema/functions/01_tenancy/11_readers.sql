-- Readers: tenants that may read another tenant, which has shared itself with them. The shared tenant decides who may read it;
-- a reader decides whether it does, by naming the shared tenant in a transaction. A row belongs to the shared tenant and moves
-- with it. It gives its reader what recall_reader may do there, never more: Postgres refuses every write, because the
-- transaction is READ ONLY, and no transaction can leave that state after its first query.

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
            format('Whoever owns it runs: SELECT recall.add_reader(%L);', p_reader));
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

-- add_reader: lets another tenant read this one, from its next transaction on. Returns false if it could before.
CREATE OR REPLACE FUNCTION recall.add_reader(p_reader text, p_now timestamptz DEFAULT now()) RETURNS boolean
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
    ELSIF (SELECT count(*) FROM recall.reader r WHERE r.tenant = v_tenant) >= 1000 THEN
        PERFORM recall_private.raise_invalid('A tenant has at most 1,000 readers.', 'Remove one first.');
    END IF;
    INSERT INTO recall.reader (tenant, reader, since) VALUES (v_tenant, p_reader, p_now) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- remove_reader: ends what add_reader began, from the reader's next transaction on. Returns false if it could not read.
CREATE OR REPLACE FUNCTION recall.remove_reader(p_reader text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall.reader r WHERE r.tenant = recall_private.own_tenant() AND r.reader = p_reader;
    RETURN FOUND;
END $$;

-- readers: the tenants that may read this one, by name, and since when.
CREATE OR REPLACE FUNCTION recall.readers() RETURNS TABLE (reader text, since timestamptz)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.reader, r.since FROM recall.reader r
    WHERE r.tenant = (SELECT recall_private.own_tenant()) ORDER BY r.reader
$$;
