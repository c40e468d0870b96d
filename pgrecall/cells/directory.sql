-- The directory of cells records which tenant lives in which database. It is in one small database; every cell may be on
-- another server. This file can be run repeatedly.

CREATE SCHEMA IF NOT EXISTS recall_cells;

CREATE TABLE IF NOT EXISTS recall_cells.installation (
    id text NOT NULL DEFAULT gen_random_uuid()::text,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO recall_cells.installation DEFAULT VALUES ON CONFLICT DO NOTHING;

-- The address has neither user nor password: clients log in there as they did here.
CREATE TABLE IF NOT EXISTS recall_cells.cell (
    number bigint PRIMARY KEY,
    address text NOT NULL UNIQUE,
    draining boolean NOT NULL DEFAULT false,
    room bigint CHECK (room > 0),
    bytes bigint NOT NULL DEFAULT 0,
    noted_at timestamptz NOT NULL DEFAULT now(),
    dimensions int NOT NULL
);

-- A standby of the cell that may answer searches.
ALTER TABLE recall_cells.cell ADD COLUMN IF NOT EXISTS replica text;

CREATE SEQUENCE IF NOT EXISTS recall_cells.version;
CREATE TABLE IF NOT EXISTS recall_cells.place (
    tenant text PRIMARY KEY CHECK (tenant <> '' AND tenant <> '*' AND length(tenant) <= 200),
    cell bigint NOT NULL REFERENCES recall_cells.cell,
    version bigint NOT NULL DEFAULT nextval('recall_cells.version'),
    placed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS place_cell_idx ON recall_cells.place (cell, placed_at);

-- A tenant has at most one move at a time. The row is deleted when the move ends.
CREATE TABLE IF NOT EXISTS recall_cells.move (
    tenant text PRIMARY KEY REFERENCES recall_cells.place,
    source bigint NOT NULL REFERENCES recall_cells.cell,
    target bigint NOT NULL REFERENCES recall_cells.cell,
    step text NOT NULL DEFAULT 'begun',
    began_at timestamptz NOT NULL DEFAULT now(),
    flipped_at timestamptz
);

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
REVOKE ALL ON FUNCTION recall_cells.roomiest(), recall_cells.require_allowed(text) FROM PUBLIC;
GRANT USAGE ON SCHEMA recall_cells TO PUBLIC;
GRANT EXECUTE ON FUNCTION recall_cells.find(text), recall_cells.find_all(), recall_cells.place_tenant(text, bigint),
    recall_cells.replica(bigint), recall_cells.overview(), recall_cells.moves() TO PUBLIC;
