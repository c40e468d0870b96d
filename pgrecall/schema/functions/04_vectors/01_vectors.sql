-- Vectors: stored apart from the texts. Small tenants share a table, whose index keeps the vectors of each tenant
-- together, and are searched exactly. A large tenant has its own table with its own HNSW indexes. The name of such a
-- table reveals nothing, because everybody can read the catalogue. A long memory also has vectors of its passages, which
-- are its parts 1 and up. Part 0 is the vector of the memory itself.

-- vector_table: the table with the vectors of a tenant, in the snapshot of the caller.
CREATE OR REPLACE FUNCTION recall_private.vector_table(p_tenant text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(
        'vector_' || (SELECT h.number FROM recall.vector_home h WHERE h.tenant = p_tenant), 'vector_shared');
END $$;

-- lock_vectors_shared: keeps the vectors of a tenant in their table until this transaction ends; every writer of
-- vectors calls it.
CREATE OR REPLACE FUNCTION recall_private.lock_vectors_shared(p_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM recall_private.share_tenant_locks(p_tenant, ARRAY['vectors']);
END $$;

-- replace_vectors: stores one vector for each of these memories, replacing its vector and those of its passages. Raises
-- an error for a memory that does not exist.
CREATE OR REPLACE FUNCTION recall_private.replace_vectors(p_tenant text, p_ids bigint[], p_embeddings halfvec[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_stored bigint;
BEGIN
    PERFORM recall_private.lock_vectors_shared(p_tenant);
    PERFORM recall_private.delete_passages(p_tenant, p_ids);
    EXECUTE format(
        'INSERT INTO recall.%I AS v (tenant, memory_id, archived, embedding) '
        'SELECT $1, m.id, m.archived_at IS NOT NULL, u.embedding FROM unnest($2, $3) u(id, embedding) '
        'JOIN recall.memory m ON m.tenant = (SELECT $1) AND m.id = u.id ORDER BY m.id '
        'ON CONFLICT (tenant, memory_id, part) DO UPDATE SET archived = excluded.archived, embedding = excluded.embedding',
        recall_private.vector_table(p_tenant)) USING p_tenant, p_ids, p_embeddings;
    GET DIAGNOSTICS v_stored = ROW_COUNT;
    IF v_stored < cardinality(p_ids) THEN
        PERFORM recall_private.raise_invalid('a vector is of a memory that is not there');
    END IF;
END $$;

-- store_vectors: stores these vectors of these live memories, replacing existing ones, and returns how many. A NULL
-- in either array is skipped. The caller knows where the vectors are: in a table of their own (p_own_table) or in the
-- shared one. A statement with a dynamic table name is planned at each call; for the shared table, which most tenants
-- use, it is planned once.
CREATE OR REPLACE FUNCTION recall_private.store_vectors(
    p_tenant text, p_own_table boolean, p_ids bigint[], p_embeddings halfvec[]
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_stored bigint;
BEGIN
    IF p_own_table THEN
        EXECUTE format(
            'INSERT INTO recall.%I AS v (tenant, memory_id, embedding) '
            'SELECT $1, u.id, u.embedding FROM unnest($2, $3) u(id, embedding) '
            'WHERE u.id IS NOT NULL AND u.embedding IS NOT NULL ORDER BY u.id '
            'ON CONFLICT (tenant, memory_id, part) DO UPDATE SET archived = false, embedding = excluded.embedding',
            recall_private.vector_table(p_tenant)) USING p_tenant, p_ids, p_embeddings;
    ELSE
        INSERT INTO recall.vector_shared AS v (tenant, memory_id, embedding)
        SELECT p_tenant, u.id, u.embedding FROM unnest(p_ids, p_embeddings) u(id, embedding)
        WHERE u.id IS NOT NULL AND u.embedding IS NOT NULL ORDER BY u.id
        ON CONFLICT (tenant, memory_id, part) DO UPDATE SET archived = false, embedding = excluded.embedding;
    END IF;
    GET DIAGNOSTICS v_stored = ROW_COUNT;
    RETURN v_stored;
END $$;

-- sync_vectors: makes the vectors of these memories agree with them: deletes the vector of a memory with a new text, and
-- copies `archived`.
CREATE OR REPLACE FUNCTION recall_private.sync_vectors(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_table text;
BEGIN
    IF cardinality(p_ids) = 0 THEN
        RETURN;
    END IF;
    PERFORM recall_private.lock_vectors_shared(p_tenant);
    v_table := recall_private.vector_table(p_tenant);
    EXECUTE format(
        'DELETE FROM recall.%I v USING recall.memory m WHERE v.tenant = (SELECT $1) AND v.memory_id = ANY ($2) '
        'AND m.tenant = (SELECT $1) AND m.id = v.memory_id AND m.embedded_with IS NULL', v_table) USING p_tenant, p_ids;
    EXECUTE format(
        'UPDATE recall.%I v SET archived = NOT v.archived FROM recall.memory m '
        'WHERE v.tenant = (SELECT $1) AND v.memory_id = ANY ($2) AND m.tenant = (SELECT $1) AND m.id = v.memory_id '
        'AND v.archived <> (m.archived_at IS NOT NULL)', v_table) USING p_tenant, p_ids;
END $$;

-- delete_vector: trigger that deletes the vectors of a deleted memory.
CREATE OR REPLACE FUNCTION recall_private.delete_vector() RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall_private.lock_vectors_shared(OLD.tenant);
    EXECUTE format('DELETE FROM recall.%I v WHERE v.tenant = (SELECT $1) AND v.memory_id = $2',
                   recall_private.vector_table(OLD.tenant))
    USING OLD.tenant, OLD.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER memory_vector_deleted AFTER DELETE ON recall.memory
FOR EACH ROW WHEN (OLD.embedded_with IS NOT NULL) EXECUTE FUNCTION recall_private.delete_vector();

-- stored_vectors: the vectors of these memories of a tenant (NULL means all), and the embedder that made them; by id.
-- Vectors of passages are left out.
CREATE OR REPLACE FUNCTION recall_private.stored_vectors(p_tenant text, p_ids bigint[])
RETURNS TABLE (id bigint, embedded_with text, embedding halfvec, archived boolean)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT m.id, m.embedded_with, v.embedding, v.archived FROM recall.%I v '
        'JOIN recall.memory m ON m.tenant = (SELECT $1) AND m.id = v.memory_id '
        'WHERE v.tenant = (SELECT $1) AND v.part = 0%s ORDER BY v.memory_id',
        recall_private.vector_table(p_tenant), CASE WHEN p_ids IS NOT NULL THEN ' AND v.memory_id = ANY ($2)' END)
    USING p_tenant, p_ids;
END $$;

-- similarities_to_vector: the cosine of each of these memories with a vector: that of its own vector or, if this is
-- greater, that of its best passage minus passage_handicap. Memories without a vector are left out, and so are vectors of
-- length zero, which have no cosine. A statement with a dynamic table name is planned at each call, so it only reads; few
-- tenants have passages. For the shared table, which most tenants use, it is planned once.
CREATE OR REPLACE FUNCTION recall_private.similarities_to_vector(
    p_tenant text, p_ids bigint[], p_embedding halfvec, OUT ids bigint[], OUT similarities double precision[]
)
LANGUAGE plpgsql STABLE
-- By index, however small the table was when the plan was made.
SET enable_seqscan = off AS $$
DECLARE
    v_table text := recall_private.vector_table(p_tenant);
    v_parts smallint[];
BEGIN
    IF v_table = 'vector_shared' THEN
        SELECT array_agg(v.memory_id), array_agg(v.part), array_agg(1 - (v.embedding <=> p_embedding))
        INTO ids, v_parts, similarities
        FROM recall.vector_shared v WHERE v.tenant = p_tenant AND v.memory_id = ANY (p_ids);
    ELSE
        -- Ids that the planner saw would cost more to plan, one by one.
        EXECUTE format(
            'SELECT array_agg(v.memory_id), array_agg(v.part), array_agg(1 - (v.embedding <=> $3)) '
            'FROM recall.%I v WHERE v.tenant = (SELECT $1) AND v.memory_id = ANY ((SELECT $2)::bigint[])', v_table)
        INTO ids, v_parts, similarities USING p_tenant, p_ids, p_embedding;
    END IF;
    IF 0 < ANY (v_parts) OR 'NaN' = ANY (similarities) THEN
        SELECT array_agg(x.id), array_agg(x.similarity) INTO ids, similarities
        FROM (SELECT u.id, greatest(max(u.similarity) FILTER (WHERE u.part = 0),
                                    max(u.similarity) FILTER (WHERE u.part > 0)
                                    - recall_private.passage_handicap(max(u.part))) AS similarity
              FROM unnest(ids, v_parts, similarities) u(id, part, similarity) WHERE u.similarity <> 'NaN'
              GROUP BY u.id) x;
    END IF;
END $$;
