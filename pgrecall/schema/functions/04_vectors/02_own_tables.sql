-- Tables for the vectors of one tenant. A tenant with more than 4,000 vectors, including those of passages, gets its own
-- table. Up to this size, an exact search in the shared table is as fast as an HNSW index, and finds everything.

-- move_vectors_to_own_table (app; Jobs and maintenance): moves the vectors of this tenant from the shared table to its
-- own, if there are more than p_more_than. Returns how many it moved. Readers continue meanwhile. Writers of this
-- tenant's vectors wait while the tables are switched.
CREATE OR REPLACE FUNCTION recall.move_vectors_to_own_table(p_more_than int DEFAULT 4000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_number bigint;
    v_table text;
BEGIN
    PERFORM recall_private.require_between(p_more_than, 0, 1000000000, 'p_more_than');
    PERFORM recall_private.lock_tenant(v_tenant, 'vector table');
    IF recall_private.in_cells() AND EXISTS (SELECT FROM pg_publication p WHERE p.pubname = recall_private.move_name(v_tenant)) THEN
        RETURN 0;  -- the rows are being copied to another cell and must stay where they are
    ELSIF recall_private.vector_table(v_tenant) <> 'vector_shared' OR (
        SELECT count(*) FROM (
            SELECT FROM recall.vector_shared v WHERE v.tenant = v_tenant LIMIT p_more_than + 1) counted) <= p_more_than THEN
        RETURN 0;
    END IF;
    v_number := nextval(pg_get_serial_sequence('recall.vector_home', 'number'));
    v_table := 'vector_' || v_number;
    PERFORM recall_private.build_vector_table(v_tenant, v_table);
    RETURN recall_private.switch_vector_table(v_tenant, v_table, v_number);
END $$;

-- lock_vectors_exclusive: waits until no transaction writes vectors of this tenant, and prevents writes until this
-- transaction ends. It gives up and retries before Postgres would detect a deadlock between it and the transactions that
-- wait for it.
CREATE OR REPLACE FUNCTION recall_private.lock_vectors_exclusive(p_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '400ms' AS $$
BEGIN
    FOR v_try IN 1 .. 12 LOOP
        BEGIN
            PERFORM recall_private.lock_tenant(p_tenant, 'vectors');
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
        MESSAGE = 'The vectors of this tenant are busy: others write to them.',
        HINT = 'Nothing was changed; try again later.';
END $$;

-- make_vector_table: creates an empty table with its key for the vectors of one tenant.
CREATE OR REPLACE FUNCTION recall_private.make_vector_table(p_table text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format('CREATE TABLE IF NOT EXISTS recall.%I (LIKE recall.vector_shared INCLUDING DEFAULTS, '
                   'CONSTRAINT %I PRIMARY KEY (tenant, memory_id, part))', p_table, p_table || '_pkey');
    PERFORM recall_private.protect_table(format('recall.%I', p_table)::regclass);
END $$;

-- index_vector_table: creates the indexes that searches by meaning use in a table of one tenant's vectors.
CREATE OR REPLACE FUNCTION recall_private.index_vector_table(p_table text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON recall.%I USING hnsw (embedding halfvec_cosine_ops) '
        'WITH (m = 16, ef_construction = 128) WHERE NOT archived', p_table || '_live_idx', p_table);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON recall.%I USING hnsw (embedding halfvec_cosine_ops) '
        'WITH (m = 16, ef_construction = 128) WHERE archived', p_table || '_archived_idx', p_table);
END $$;

-- build_vector_table: creates a table of this name, with a copy of a tenant's vectors in the shared table, and its
-- indexes.
CREATE OR REPLACE FUNCTION recall_private.build_vector_table(p_tenant text, p_table text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    EXECUTE format('CREATE TABLE recall.%I (LIKE recall.vector_shared INCLUDING DEFAULTS)', p_table);
    PERFORM recall_private.protect_table(format('recall.%I', p_table)::regclass);
    EXECUTE format(
        'INSERT INTO recall.%I SELECT * FROM recall.vector_shared v WHERE v.tenant = $1 ORDER BY v.memory_id, v.part', p_table)
    USING p_tenant;
    EXECUTE format('ALTER TABLE recall.%I ADD CONSTRAINT %I PRIMARY KEY (tenant, memory_id, part)', p_table, p_table || '_pkey');
    PERFORM recall_private.index_vector_table(p_table);
END $$;

-- switch_vector_table: applies what has changed since this table was copied, and makes it the table of a tenant's
-- vectors. Returns the number of vectors. Prevents writes of this tenant's vectors until the transaction ends. The size of
-- the table's statistics does not follow the caller's setting.
CREATE OR REPLACE FUNCTION recall_private.switch_vector_table(p_tenant text, p_table text, p_number bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET default_statistics_target = 100 AS $$
DECLARE
    v_moved bigint;
BEGIN
    PERFORM recall_private.lock_vectors_exclusive(p_tenant);
    EXECUTE format(
        'DELETE FROM recall.%I h WHERE NOT EXISTS (SELECT FROM recall.vector_shared v '
        'WHERE v.tenant = (SELECT $1) AND v.memory_id = h.memory_id AND v.part = h.part AND v.archived = h.archived '
        'AND v.embedding = h.embedding AND (v.passage_start, v.passage_end) IS NOT DISTINCT FROM '
        '(h.passage_start, h.passage_end))',
        p_table) USING p_tenant;
    EXECUTE format(
        'INSERT INTO recall.%1$I SELECT * FROM recall.vector_shared v WHERE v.tenant = (SELECT $1) AND NOT EXISTS ('
        'SELECT FROM recall.%1$I h WHERE h.tenant = (SELECT $1) AND h.memory_id = v.memory_id AND h.part = v.part)', p_table) USING p_tenant;
    DELETE FROM recall.vector_shared v WHERE v.tenant = p_tenant;
    GET DIAGNOSTICS v_moved = ROW_COUNT;
    EXECUTE format('ANALYZE recall.%I', p_table);
    INSERT INTO recall.vector_home (tenant, number) OVERRIDING SYSTEM VALUE VALUES (p_tenant, p_number);
    RETURN v_moved;
END $$;
