-- Ids of imported rows. All tenants share the sequences, and what a sequence has given out does not come back when a
-- transaction is rolled back. So an import leaves them where they are. The next new row of the tenant passes over the
-- imported ids, once these are committed.

-- check_imported_ids: raises an error for ids of this tenant that other programs could not represent.
CREATE OR REPLACE FUNCTION recall_private.check_imported_ids(p_tenant text, p_table text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_least bigint;
    v_last bigint;
BEGIN
    EXECUTE format('SELECT min(t.id), max(t.id) FROM recall.%I t WHERE t.tenant = $1', p_table)
    INTO v_least, v_last USING p_tenant;
    IF v_least < 1 OR v_last > 1::bigint << 52 THEN
        PERFORM recall_private.raise_invalid(
            format('The export has a %s with the id %s.', p_table, CASE WHEN v_least < 1 THEN v_least ELSE v_last END),
            'Ids lie between 1 and 4503599627370496.');
    END IF;
END $$;

-- reach_of_ids: how far ahead of a sequence imported ids are passed over, at most.
CREATE OR REPLACE FUNCTION recall_private.reach_of_ids() RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 10000000;

-- unused_row_id: the id of a new row of this tenant in a table that exports number. An imported row can have an id that
-- the sequence has yet to reach; such ids are skipped. unused_id is the same for memories, and faster.
CREATE OR REPLACE FUNCTION recall_private.unused_row_id(p_tenant text, p_table text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_id bigint;
    v_next bigint;
BEGIN
    LOOP
        v_id := nextval(format('recall.%I', p_table || '_id_seq'));
        EXECUTE format('SELECT min(t.id) FROM recall.%I t WHERE t.tenant = $1 AND t.id >= $2', p_table)
        INTO v_next USING p_tenant, v_id;
        EXIT WHEN v_next IS NULL OR v_next > v_id + recall_private.reach_of_ids()
            OR NOT recall_private.pass_imported_ids(p_tenant, p_table, v_id) AND v_next > v_id;
    END LOOP;
    RETURN v_id;
END $$;

-- pass_imported_ids: advances the sequence of a table past the ids of this tenant that lie a little ahead of p_id, so
-- that a new row does not get the id of one that was deleted before the export. Returns whether it did. At most 1,000
-- ids for each row, and none for rows of this transaction: they may be rolled back. Imports use the first sixteenth of
-- a cell's 2^40 ids, no matter how many there are; beyond it, only ids of existing rows are skipped.
CREATE OR REPLACE FUNCTION recall_private.pass_imported_ids(p_tenant text, p_table text, p_id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_sequence regclass := format('recall.%I', p_table || '_id_seq');
    v_end bigint := (SELECT s.seqmin + (1::bigint << 36) FROM pg_sequence s WHERE s.seqrelid = v_sequence);
    v_rows bigint;
    v_last bigint;
    v_committed boolean;
BEGIN
    -- Stops counting where more rows would change nothing.
    EXECUTE format('SELECT count(*) FROM (SELECT FROM recall.%I t WHERE t.tenant = $1 LIMIT $2) r', p_table)
    INTO v_rows USING p_tenant, recall_private.reach_of_ids() / 1000;
    -- Rows of this transaction and of its savepoints are not older than it.
    EXECUTE format(
        'SELECT t.id, age(t.xmin) > 0 FROM recall.%I t WHERE t.tenant = $1 AND t.id <= $2 ORDER BY t.id DESC LIMIT 1',
        p_table)
    INTO v_last, v_committed USING p_tenant, least(p_id + greatest(100000, 1000 * v_rows), v_end);
    IF v_last > p_id AND v_committed THEN
        IF v_last - p_id > 100000 THEN
            -- Far enough ahead of concurrent inserts: setval never goes back.
            PERFORM setval(v_sequence, v_last);
        ELSE
            PERFORM nextval(v_sequence) FROM generate_series(p_id + 1, v_last);
        END IF;
        RETURN true;
    END IF;
    RETURN false;
END $$;
