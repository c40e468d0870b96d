-- Steps of every install and upgrade that only the installing role can do, before it acts as the owner. A step that it is
-- not allowed to do is skipped, and recall.access_problems() reports it. Without the roles, only the installer can use
-- the schema.

-- Creates the extension unaccent if this role may. Without it, search treats words with and without accents as different.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions a WHERE a.name = 'unaccent' AND a.installed_version IS NULL) THEN
        -- In public if no schema of the search path exists.
        EXECUTE 'CREATE EXTENSION unaccent' || CASE WHEN current_schema() IS NULL THEN ' SCHEMA public' ELSE '' END;
    END IF;
EXCEPTION WHEN insufficient_privilege OR invalid_schema_name OR undefined_file THEN
    NULL;
END $$;

-- Creates the roles. They belong to the whole server, so another database may have created them already.
DO $$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['recall_owner', 'recall_reader', 'recall_app', 'recall_worker'] LOOP
        IF to_regrole(v_role) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
                NULL;  -- another database is creating the role at this moment, or this role must not
            END;
        END IF;
    END LOOP;
END $$;

-- Lets the installing role and the current owner of the schema act as recall_owner (SET ROLE), which gives them no new
-- power, and use memories as a worker. Each grant is tried separately: access_problems() reports those that this role
-- may not make, and the schema changes its owner only when all exist.
DO $$
DECLARE
    v_role name;
BEGIN
    IF to_regrole('recall_owner') IS NULL OR to_regrole('recall_worker') IS NULL THEN
        RETURN;
    END IF;
    FOR v_role IN
        SELECT r.rolname FROM pg_roles r
        WHERE NOT r.rolsuper AND r.rolname <> 'recall_owner' AND (
            r.rolname = current_user
            OR r.oid = (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'recall'))
    LOOP
        BEGIN
            IF NOT pg_has_role(v_role, 'recall_owner', 'SET') THEN
                EXECUTE format('GRANT recall_owner TO %I WITH INHERIT FALSE, SET TRUE', v_role);
            END IF;
        EXCEPTION WHEN insufficient_privilege OR unique_violation THEN
            NULL;
        END;
        BEGIN
            IF NOT pg_has_role(v_role, 'recall_worker', 'USAGE') THEN
                EXECUTE format('GRANT recall_worker TO %I WITH INHERIT TRUE', v_role);
            END IF;
        EXCEPTION WHEN insufficient_privilege OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END $$;

-- Lets all roles use the schemas of the extensions. Usually that is `public`, which everybody may use anyway.
DO $$
DECLARE
    v record;
BEGIN
    FOR v IN
        SELECT n.oid, n.nspname, r.rolname FROM pg_roles r
        CROSS JOIN (SELECT DISTINCT e.extnamespace AS oid FROM pg_extension e
                    WHERE e.extname IN ('vector', 'pg_trgm', 'unaccent')) x
        JOIN pg_namespace n ON n.oid = x.oid
        WHERE r.rolname IN ('recall_owner', 'recall_reader', 'recall_app', 'recall_worker')
          AND NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
    LOOP
        BEGIN
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', v.nspname, v.rolname);
        EXCEPTION WHEN insufficient_privilege THEN
            NULL;
        END;
        IF v.rolname <> 'recall_owner' THEN
            CONTINUE;
        ELSIF NOT has_schema_privilege(v.rolname, v.oid, 'USAGE') AND pg_has_role(v.rolname, 'SET') THEN
            RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                MESSAGE = format('recall_owner may not use the schema %I, where the extensions are.', v.nspname),
                HINT = format('An administrator runs: GRANT USAGE ON SCHEMA %I TO recall_owner;', v.nspname);
        END IF;
    END LOOP;
END $$;

-- Creates the schema of internal functions.
DO $$
BEGIN
    IF to_regnamespace('recall_private') IS NULL THEN
        CREATE SCHEMA recall_private;
    END IF;
END $$;

-- Gives everything to recall_owner, a role that cannot log in. The schemas come last, because this role loses the right
-- to do this with them. Waits until the installing role and the current owner have the grants above.
DO $$
DECLARE
    v_statement text;
BEGIN
    IF EXISTS (
        SELECT FROM unnest(ARRAY['recall_owner', 'recall_reader', 'recall_app', 'recall_worker']) n(name)
        WHERE to_regrole(n.name) IS NULL)
       OR (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'recall') = to_regrole('recall_owner')
       OR EXISTS (
        SELECT FROM pg_roles r
        WHERE (r.rolname = current_user
               OR r.oid = (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'recall'))
          AND NOT (pg_has_role(r.oid, 'recall_owner', 'SET') AND pg_has_role(r.oid, 'recall_worker', 'USAGE'))) THEN
        RETURN;
    END IF;
    GRANT USAGE, CREATE ON SCHEMA recall, recall_private TO recall_owner;
    FOR v_statement IN
        SELECT format('ALTER %s recall.%I OWNER TO recall_owner',
                      CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.relname)
        FROM pg_class c
        WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
          AND NOT EXISTS (  -- the sequence of a column follows its table
              SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')
                AND d.refclassid = 'pg_class'::regclass AND c.relkind = 'S')
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO recall_owner', p.oid::regprocedure) FROM pg_proc p
        WHERE p.pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) AND NOT EXISTS (
            SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        UNION ALL
        SELECT format('ALTER TYPE recall.%I OWNER TO recall_owner', t.typname) FROM pg_type t
        JOIN pg_class c ON c.oid = t.typrelid AND c.relkind = 'c' WHERE t.typnamespace = 'recall'::regnamespace
        UNION ALL
        SELECT format('ALTER TEXT SEARCH CONFIGURATION recall.%I OWNER TO recall_owner', g.cfgname)
        FROM pg_ts_config g WHERE g.cfgnamespace = 'recall'::regnamespace
        UNION ALL
        SELECT format('ALTER TEXT SEARCH DICTIONARY recall.%I OWNER TO recall_owner', d.dictname)
        FROM pg_ts_dict d WHERE d.dictnamespace = 'recall'::regnamespace
    LOOP
        EXECUTE v_statement;
    END LOOP;
    ALTER SCHEMA recall_private OWNER TO recall_owner;
    ALTER SCHEMA recall OWNER TO recall_owner;
END $$;

-- A schema for internal functions that was created just now, beside one that recall_owner has, goes to it too.
DO $$
DECLARE
    v_owner regrole := (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'recall');
BEGIN
    IF (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'recall_private') <> v_owner THEN
        EXECUTE format('ALTER SCHEMA recall_private OWNER TO %s', v_owner);
    END IF;
END $$;
