-- Cells: databases among which the tenants of one installation are divided. A cell has a number. It determines the range
-- of the cell's sequences, which overlaps with no other, so that a tenant keeps its ids when it moves. As soon as there
-- are two cells, each refuses tenants that do not live in it. The table `resident` records who does:
--
--   state     cell         here
--   here      NULL         it lives here
--   moving    NULL         it lives here and is about to leave: it can be read; writes are refused for a moment
--   moving    its cell     it is being copied to this cell
--   gone      its cell     it has moved there

-- cell_number: the number of this cell. NULL if this database is not a cell.
CREATE OR REPLACE FUNCTION recall_private.cell_number() RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT (s.value ->> 'number')::bigint FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'cell'
$$;

-- switch_residence_check: turns the check of tenants on or off by replacing in_cells(). The answer is a constant in a
-- function, so that plans contain it and a database without other cells pays nothing. Replacing the function makes every
-- session plan again.
CREATE OR REPLACE FUNCTION recall_private.switch_residence_check(p_on boolean) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- STABLE, because a plan would keep the value of an immutable function without depending on the function.
    EXECUTE format('CREATE OR REPLACE FUNCTION recall_private.in_cells() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE '
                   'RETURN %L::boolean', p_on);
END $$;

-- An upgrade keeps the check as it was.
SELECT recall_private.switch_residence_check(coalesce((
    SELECT (s.value ->> 'checked')::boolean FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'cell'), false));

-- lives_here: whether a tenant lives in this database.
CREATE OR REPLACE FUNCTION recall_private.lives_here(p_tenant text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN NOT recall_private.in_cells()
        OR EXISTS (SELECT FROM recall.resident r WHERE r.tenant = p_tenant AND r.cell IS NULL);
END $$;

-- is_moving: whether a tenant is about to leave this database or is being copied to it.
CREATE OR REPLACE FUNCTION recall_private.is_moving(p_tenant text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.in_cells()
        AND EXISTS (SELECT FROM recall.resident r WHERE r.tenant = p_tenant AND r.state = 'moving');
END $$;

-- require_resident: raises RC001 for a tenant that lives in another cell. If the tenant is about to leave, the
-- transaction becomes read-only.
CREATE OR REPLACE FUNCTION recall_private.require_resident(p_tenant text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    v_state text;
    v_cell bigint;
BEGIN
    SELECT r.state, r.cell INTO v_state, v_cell FROM recall.resident r WHERE r.tenant = p_tenant;
    IF v_state = 'here' THEN
        RETURN;
    ELSIF v_state = 'moving' AND v_cell IS NULL THEN
        IF NOT current_setting('transaction_read_only')::boolean THEN
            PERFORM set_config('transaction_read_only', 'on', true);
        END IF;
        RETURN;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'RC001',
        MESSAGE = format('Tenant %s does not live in cell %s%s.', p_tenant, recall_private.cell_number(),
                         coalesce(', but in cell ' || v_cell, '')),
        HINT = 'Clients with cells= (PGRECALL_CELLS) find its cell by themselves; `pgrecall tenant list` shows it. '
               'Ask there, or again in a moment if it is just moving.';
END $$;

-- admit_tenant (app): lets the new tenant that the transaction names live in this cell. Returns whether it is new.
-- Raises an error if it lives in another cell. Clients call it for tenants that the directory has placed here. Only for
-- roles that may name any tenant: a role bound to one tenant must not spread it over cells.
CREATE OR REPLACE FUNCTION recall.admit_tenant() RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := nullif(current_setting('recall.tenant', true), '');
BEGIN
    PERFORM recall_private.require_any_tenant('admit tenants');
    IF v_tenant IS NULL OR v_tenant = '*' OR NOT recall_private.in_cells() THEN
        PERFORM recall.current_tenant();  -- raises the error, if there is one
        RETURN false;
    ELSIF length(v_tenant) > 200 THEN
        PERFORM recall_private.raise_invalid('The name of a tenant has at most 200 characters.');
    END IF;
    INSERT INTO recall.resident (tenant) VALUES (v_tenant) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM recall_private.require_resident(v_tenant);
    RETURN false;
END $$;

-- set_sequence_ranges: gives every sequence the range of this cell's number, which starts at N * 2^40. Returns how many
-- changed. Called when a database becomes a cell, and by upgrades, which may add sequences.
CREATE OR REPLACE FUNCTION recall_private.set_sequence_ranges() RETURNS int
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_low bigint := greatest(recall_private.cell_number() << 40, 1);
    v_high bigint := ((recall_private.cell_number() + 1) << 40) - 1;
    v_sequence record;
    v_changed int := 0;
BEGIN
    IF v_low IS NULL OR recall_private.cell_number() IS NULL THEN
        RETURN 0;
    END IF;
    FOR v_sequence IN
        SELECT format('%I.%I', s.schemaname, s.sequencename) AS name, s.last_value FROM pg_sequences s
        WHERE s.schemaname = 'recall' AND (s.min_value, s.max_value) <> (v_low, v_high)
    LOOP
        -- A sequence that is already in the range continues. This is so in cell 0, which may have tenants.
        EXECUTE format('ALTER SEQUENCE %s MINVALUE %s MAXVALUE %s START %s %s', v_sequence.name, v_low, v_high, v_low,
            CASE WHEN coalesce(v_sequence.last_value, 0) < v_low THEN 'RESTART' ELSE '' END);
        v_changed := v_changed + 1;
    END LOOP;
    RETURN v_changed;
END $$;

SELECT recall_private.set_sequence_ranges();

-- known_tenants: every tenant that has rows in any table, found by index. A tenant that is only registered does not
-- count.
CREATE OR REPLACE FUNCTION recall_private.known_tenants() RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_parts text;
BEGIN
    SELECT string_agg(format(
        '(WITH RECURSIVE o(tenant) AS (SELECT min(t.tenant) FROM recall.%1$I t UNION ALL '
        'SELECT (SELECT min(t.tenant) FROM recall.%1$I t WHERE t.tenant > o.tenant) FROM o WHERE o.tenant IS NOT NULL) '
        'SELECT o.tenant FROM o)', c.relname), ' UNION ')
    INTO v_parts
    FROM recall_private.tenant_tables() c(relname);
    RETURN QUERY EXECUTE format('SELECT k.tenant FROM (%s) k WHERE k.tenant <> ''*'' ORDER BY 1', v_parts);
END $$;

-- tenant_tables: every table with rows that move with a tenant, by name. Partitioned tables are listed once; of the
-- tables that hold the vectors of one tenant, only that of p_tenant. Locks, residents and bindings of login roles are
-- left out: they stay in the old cell and are created again in the new one.
CREATE OR REPLACE FUNCTION recall_private.tenant_tables(p_tenant text DEFAULT NULL) RETURNS SETOF name
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT c.relname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname NOT IN ('tenant_lock', 'resident', 'tenant_role')
      AND (c.relname !~ '^vector_[0-9]+$' OR c.relname = (
          SELECT 'vector_' || h.number FROM recall.vector_home h WHERE h.tenant = p_tenant))
    ORDER BY c.relname
$$;

-- register_residents: registers every tenant with rows here that is not registered yet as living here. Returns them.
CREATE OR REPLACE FUNCTION recall_private.register_residents() RETURNS SETOF text
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    INSERT INTO recall.resident AS r (tenant) SELECT k FROM recall_private.known_tenants() k
    ON CONFLICT DO NOTHING RETURNING r.tenant
$$;

-- join_cells: makes this database the cell with this number in an installation. A database that has tenants can only be
-- cell 0, because their ids are in the range of cell 0.
CREATE OR REPLACE FUNCTION recall_private.join_cells(p_number bigint, p_installation text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_cell jsonb := (SELECT s.value FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'cell');
BEGIN
    IF p_number NOT BETWEEN 0 AND 4000000 THEN
        PERFORM recall_private.raise_invalid(format('%s cannot be the number of a cell.', p_number), 'Give a number from 0 to 4000000.');
    ELSIF v_cell IS NOT NULL AND (v_cell ->> 'number' <> p_number::text OR v_cell ->> 'installation' <> p_installation) THEN
        PERFORM recall_private.raise_invalid(format('This database is cell %s of another installation, or of this one.',
            v_cell ->> 'number'), 'Remove it from there first: pgrecall cell remove.');
    ELSIF p_number > 0 AND EXISTS (SELECT FROM recall_private.known_tenants()) AND v_cell IS NULL THEN
        PERFORM recall_private.raise_invalid('This database has tenants already, so it can only be cell 0.',
            'Make this database the first cell, or export its tenants and import them through a client with cells.');
    END IF;
    INSERT INTO recall.setting (tenant, name, value)
    VALUES ('*', 'cell', jsonb_build_object('number', p_number, 'installation', p_installation, 'checked', false))
    ON CONFLICT DO NOTHING;
    PERFORM recall_private.set_sequence_ranges();
END $$;

-- check_residents: makes this cell refuse tenants that do not live here, or stop refusing them.
CREATE OR REPLACE FUNCTION recall_private.check_residents(p_on boolean) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    IF p_on THEN
        PERFORM recall_private.register_residents();
    END IF;
    UPDATE recall.setting s SET value = s.value || jsonb_build_object('checked', p_on)
    WHERE s.tenant = '*' AND s.name = 'cell';
    PERFORM recall_private.switch_residence_check(p_on);
END $$;

-- leave_cells: makes this database a single database again. Its sequences keep their range.
CREATE OR REPLACE FUNCTION recall_private.leave_cells() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall_private.check_residents(false);
    DELETE FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'cell';
    DELETE FROM recall.resident;
END $$;

-- move_name: the name of the publication, the slot and the subscription of a tenant's move.
CREATE OR REPLACE FUNCTION recall_private.move_name(p_tenant text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'recall_move_' || md5(p_tenant);

-- row_digest: an SQL expression for the digest of row t of a table. Generated columns are left out.
CREATE OR REPLACE FUNCTION recall_private.row_digest(p_table name) RETURNS text
LANGUAGE sql STABLE AS $$
    -- The binary form of vectors and bits takes a tenth of the time.
    SELECT format('hashtextextended(ROW(%s)::text, 0)::numeric', string_agg(CASE
        WHEN a.atttypid = 'halfvec'::regtype THEN format('md5(halfvec_send(t.%I))', a.attname)
        WHEN a.atttypid = 'varbit[]'::regtype THEN format('md5(array_send(t.%I))', a.attname)
        ELSE format('t.%I', a.attname) END, ', ' ORDER BY a.attname))
    FROM pg_attribute a
    WHERE a.attrelid = format('recall.%I', p_table)::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attgenerated = ''
$$;

-- tenant_digests: count and digest of all rows of a tenant, by table. The digest is a sum over the content of the rows,
-- which does not depend on their order.
CREATE OR REPLACE FUNCTION recall_private.tenant_digests(p_tenant text)
RETURNS TABLE (relation text, held bigint, digest numeric)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET timezone = 'UTC'
SET datestyle = 'ISO'
SET extra_float_digits = 1 AS $$
DECLARE
    v_table name;
BEGIN
    FOR v_table IN SELECT * FROM recall_private.tenant_tables(p_tenant) LOOP
        RETURN QUERY EXECUTE format('SELECT %L, count(*), coalesce(sum(%s), 0) FROM recall.%I t WHERE t.tenant = $1',
            v_table, recall_private.row_digest(v_table), v_table)
        USING p_tenant;
    END LOOP;
END $$;

-- keyed_digests: as tenant_digests, but only of the rows with these primary keys, in the tables that are named. p_keys has
-- an array of keys by table, as in {"link": [{"tenant": "acme", "src": 1, "dst": 2, "relation": "links_to"}]}. Finds
-- the rows by index. Keys without a row, and repeated ones, do no harm.
CREATE OR REPLACE FUNCTION recall_private.keyed_digests(p_tenant text, p_keys jsonb)
RETURNS TABLE (relation text, held bigint, digest numeric)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET timezone = 'UTC'
SET datestyle = 'ISO'
SET extra_float_digits = 1
-- The planner does not know how many keys there are.
SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    v_table name;
    v_keys jsonb;
    v_columns text;
BEGIN
    FOR v_table, v_keys IN
        SELECT t, p_keys -> t::text FROM recall_private.tenant_tables(p_tenant) t WHERE p_keys ? t::text
    LOOP
        SELECT string_agg(format('%I', a.attname), ', ') INTO v_columns
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = format('recall.%I', v_table)::regclass AND i.indisprimary;
        RETURN QUERY EXECUTE format(
            'SELECT %1$L, count(*), coalesce(sum(%2$s), 0) '
            'FROM (SELECT DISTINCT %3$s FROM jsonb_populate_recordset(NULL::recall.%4$I, $2)) k '
            'JOIN recall.%4$I t USING (%3$s) WHERE t.tenant = $1',
            v_table, recall_private.row_digest(v_table), v_columns, v_table)
        USING p_tenant, v_keys;
    END LOOP;
END $$;

-- forget_tenant (owner): deletes every row of a tenant that does not live here, and its table of vectors. Returns how
-- many.
CREATE OR REPLACE FUNCTION recall.forget_tenant(p_tenant text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_table name;
    v_rows bigint;
    v_all bigint := 0;
    v_own text := (SELECT 'vector_' || h.number FROM recall.vector_home h WHERE h.tenant = p_tenant);
BEGIN
    PERFORM FROM recall.resident r WHERE r.tenant = p_tenant AND r.cell IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM recall_private.raise_invalid(format('Tenant %s lives in this cell.', p_tenant), 'Nothing of it is deleted.');
    END IF;
    IF v_own IS NOT NULL THEN
        EXECUTE format('DROP TABLE IF EXISTS recall.%I', v_own);
        -- Deleted first, because the trigger that deletes a memory's vector looks up its table here.
        DELETE FROM recall.vector_home h WHERE h.tenant = p_tenant;
        v_all := 1;
    END IF;
    FOR v_table IN SELECT * FROM recall_private.tenant_tables() LOOP
        EXECUTE format('DELETE FROM recall.%I t WHERE t.tenant = $1', v_table) USING p_tenant;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        v_all := v_all + v_rows;
    END LOOP;
    DELETE FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND NOT EXISTS (
        SELECT FROM recall.tenant_role r WHERE r.tenant = p_tenant);
    RETURN v_all;
END $$;
