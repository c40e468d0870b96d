-- The directory of cells records which tenant lives in which database. It is in one small database; every cell may be on
-- another server. This file can be run repeatedly.

-- With Citus the database may have workers, which have no directory. Without it this says nothing.
SELECT set_config('citus.enable_ddl_propagation', 'off', true), set_config('lock_timeout', '10s', true);

CREATE SCHEMA IF NOT EXISTS recall_cells;

CREATE TABLE IF NOT EXISTS recall_cells.installation (
    id text NOT NULL DEFAULT gen_random_uuid()::text,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO recall_cells.installation DEFAULT VALUES ON CONFLICT DO NOTHING;
-- One call at a time changes the rest. Everybody who may log in could hold an advisory lock; only the owner reaches this row.
SELECT FROM recall_cells.installation FOR UPDATE;

-- The address has neither user nor password: clients log in there as they did here.
CREATE TABLE IF NOT EXISTS recall_cells.cell (
    number bigint PRIMARY KEY,
    address text NOT NULL UNIQUE,
    draining boolean NOT NULL DEFAULT false,
    room bigint CHECK (room > 0),
    bytes bigint NOT NULL DEFAULT 0,
    noted_at timestamptz NOT NULL DEFAULT now(),
    dimensions int NOT NULL,
    replica text  -- a standby of the cell that may answer searches
);

CREATE SEQUENCE IF NOT EXISTS recall_cells.version;
CREATE TABLE IF NOT EXISTS recall_cells.place (
    tenant text PRIMARY KEY CHECK (tenant <> '' AND tenant <> '*' AND length(tenant) <= 200),
    cell bigint NOT NULL REFERENCES recall_cells.cell,
    version bigint NOT NULL DEFAULT nextval('recall_cells.version'),
    placed_at timestamptz NOT NULL DEFAULT now()
);

-- What directories of older versions lack. Where it is there, no lock is asked for: a role may hold one in an open transaction.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'recall_cells.cell'::regclass AND a.attname = 'replica') THEN
        ALTER TABLE recall_cells.cell ADD COLUMN replica text;
    END IF;
    IF to_regclass('recall_cells.place_cell_idx') IS NULL THEN
        CREATE INDEX place_cell_idx ON recall_cells.place (cell, placed_at);
    END IF;
END $$;

-- A tenant has at most one move at a time. The row is deleted when the move ends.
CREATE TABLE IF NOT EXISTS recall_cells.move (
    tenant text PRIMARY KEY REFERENCES recall_cells.place,
    source bigint NOT NULL REFERENCES recall_cells.cell,
    target bigint NOT NULL REFERENCES recall_cells.cell,
    step text NOT NULL DEFAULT 'begun',
    began_at timestamptz NOT NULL DEFAULT now(),
    flipped_at timestamptz
);

-- The session of the process that moves a tenant, and the random key of an advisory lock that it holds.
CREATE TABLE IF NOT EXISTS recall_cells.mover (
    tenant text PRIMARY KEY,
    pid int NOT NULL,
    role oid NOT NULL,
    key bigint NOT NULL
);

-- is_alive: whether the session of a mover is still there. The lock shows that and keeps nobody out: anybody may take an advisory
-- lock, but not as another role.
CREATE OR REPLACE FUNCTION recall_cells.is_alive(p_mover recall_cells.mover) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
RETURN EXISTS (
    SELECT FROM pg_stat_get_activity(p_mover.pid) a JOIN pg_locks l ON l.pid = a.pid
    WHERE a.usesysid = p_mover.role AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND l.classid = ((p_mover.key >> 32) & 4294967295)::oid AND l.objid = (p_mover.key & 4294967295)::oid
);

-- begin_moving: makes this session the mover of a tenant; false if another one is alive.
CREATE OR REPLACE FUNCTION recall_cells.begin_moving(p_tenant text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_key bigint := hashtextextended(gen_random_uuid()::text, 0);
BEGIN
    PERFORM pg_advisory_lock(v_key);
    INSERT INTO recall_cells.mover AS m (tenant, pid, role, key)
    SELECT p_tenant, pg_backend_pid(), r.oid, v_key FROM pg_roles r WHERE r.rolname = session_user
    ON CONFLICT (tenant) DO UPDATE SET pid = excluded.pid, role = excluded.role, key = excluded.key
    WHERE NOT recall_cells.is_alive(m);
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM pg_advisory_unlock(v_key);
    RETURN false;
END $$;

-- end_moving: ends what begin_moving began in this session.
CREATE OR REPLACE FUNCTION recall_cells.end_moving(p_tenant text) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM recall_cells.mover m WHERE m.tenant = p_tenant AND m.pid = pg_backend_pid() RETURNING pg_advisory_unlock(m.key)
$$;

-- The login roles and the tenant that each may ask for ('*': any), as in the cells.
CREATE TABLE IF NOT EXISTS recall_cells.binding (
    role text PRIMARY KEY,
    tenant text NOT NULL
);

-- require_allowed: raises an error unless the login role may ask for this tenant ('*': for all).
CREATE OR REPLACE FUNCTION recall_cells.require_allowed(p_tenant text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND NOT EXISTS (
        SELECT FROM recall_cells.binding b WHERE b.role = session_user AND b.tenant IN (p_tenant, '*')) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('Role %s may not ask the directory of cells for %s.', session_user,
                             CASE p_tenant WHEN '*' THEN 'all cells' ELSE 'tenant ' || p_tenant END),
            HINT = 'An administrator runs: pgrecall roles bind, with PGRECALL_CELLS set.';
    END IF;
END $$;

-- find: the cell of a tenant; no row if it has none.
CREATE OR REPLACE FUNCTION recall_cells.find(p_tenant text)
RETURNS TABLE (tenant text, cell bigint, address text, version bigint, dimensions int)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM recall_cells.require_allowed(p_tenant);
    RETURN QUERY
    SELECT p.tenant, p.cell, c.address, p.version, c.dimensions
    FROM recall_cells.place p JOIN recall_cells.cell c ON c.number = p.cell WHERE p.tenant = p_tenant;
END $$;

-- find_all: every cell, by number.
CREATE OR REPLACE FUNCTION recall_cells.find_all() RETURNS TABLE (cell bigint, address text, dimensions int)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM recall_cells.require_allowed('*');
    RETURN QUERY SELECT c.number, c.address, c.dimensions FROM recall_cells.cell c ORDER BY c.number;
END $$;

-- replica: the address of a standby of a cell; NULL without one. For roles that may ask for all tenants or for one there.
CREATE OR REPLACE FUNCTION recall_cells.replica(p_cell bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM recall_cells.binding b JOIN recall_cells.place p ON p.tenant = b.tenant
                   WHERE b.role = session_user AND p.cell = p_cell) THEN
        PERFORM recall_cells.require_allowed('*');
    END IF;
    RETURN (SELECT c.replica FROM recall_cells.cell c WHERE c.number = p_cell);
END $$;

-- overview: every cell with what the directory knows about it, for roles that may ask for all tenants.
CREATE OR REPLACE FUNCTION recall_cells.overview()
RETURNS TABLE (number bigint, address text, draining boolean, room bigint, bytes bigint, noted_at timestamptz,
               dimensions int, replica text, tenants bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM recall_cells.require_allowed('*');
    RETURN QUERY
    SELECT c.number, c.address, c.draining, c.room, c.bytes, c.noted_at, c.dimensions, c.replica,
           (SELECT count(*) FROM recall_cells.place p WHERE p.cell = c.number)
    FROM recall_cells.cell c ORDER BY c.number;
END $$;

-- moves: the moves under way, for roles that may ask for all tenants.
CREATE OR REPLACE FUNCTION recall_cells.moves() RETURNS SETOF recall_cells.move
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM recall_cells.require_allowed('*');
    RETURN QUERY SELECT * FROM recall_cells.move ORDER BY began_at;
END $$;

-- roomiest: the cell with the most room, if any has room. Tenants placed there since its size was noted count as tenants
-- of mean size.
CREATE OR REPLACE FUNCTION recall_cells.roomiest() RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    WITH mean AS (
        SELECT greatest(sum(c.bytes) / greatest((SELECT count(*) FROM recall_cells.place), 1), 1) AS bytes
        FROM recall_cells.cell c
    ), filled AS (
        SELECT c.number, c.room, c.bytes + mean.bytes * (
                   SELECT count(*) FROM recall_cells.place p
                   WHERE p.cell = c.number AND p.placed_at > c.noted_at) AS bytes
        FROM recall_cells.cell c CROSS JOIN mean WHERE NOT c.draining
    )
    SELECT f.number FROM filled f WHERE f.room IS NULL OR f.bytes < f.room ORDER BY f.bytes, f.number LIMIT 1
$$;

-- place_tenant: the cell of a tenant. A new tenant is placed in p_cell, or in the cell with the most room.
CREATE OR REPLACE FUNCTION recall_cells.place_tenant(p_tenant text, p_cell bigint DEFAULT NULL)
RETURNS TABLE (tenant text, cell bigint, address text, version bigint, dimensions int)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_cell bigint := coalesce(p_cell, recall_cells.roomiest());
BEGIN
    PERFORM recall_cells.require_allowed(p_tenant);
    IF v_cell IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('No cell has room for tenant %s, which is new.', p_tenant),
            HINT = 'An administrator runs: pgrecall cell add URL, or pgrecall cell list to see what is full.';
    ELSIF p_cell IS NOT NULL AND NOT EXISTS (SELECT FROM recall_cells.cell c WHERE c.number = p_cell) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('There is no cell %s.', p_cell),
            HINT = '`pgrecall cell list` shows them.';
    END IF;
    INSERT INTO recall_cells.place (tenant, cell) VALUES (p_tenant, v_cell) ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT * FROM recall_cells.find(p_tenant);
END $$;

-- The functions above check the caller themselves. Only the owner can use the others, and the tables.
REVOKE ALL ON FUNCTION recall_cells.roomiest(), recall_cells.require_allowed(text),
    recall_cells.is_alive(recall_cells.mover), recall_cells.begin_moving(text), recall_cells.end_moving(text) FROM PUBLIC;
GRANT USAGE ON SCHEMA recall_cells TO PUBLIC;
GRANT EXECUTE ON FUNCTION recall_cells.find(text), recall_cells.find_all(), recall_cells.place_tenant(text, bigint),
    recall_cells.replica(bigint), recall_cells.overview(), recall_cells.moves() TO PUBLIC;
