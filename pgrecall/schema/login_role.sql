-- A login role with rights to memories: the settings recall.new_role, recall.new_rights (one of the granted roles) and
-- recall.new_password (hashed; '' for none) say which. One that is there keeps its password where none is given.
DO $$
DECLARE
    v_role text := current_setting('recall.new_role');
    v_rights text := current_setting('recall.new_rights');
    v_password text := current_setting('recall.new_password');
    v_super boolean := current_setting('is_superuser');
    v_creates boolean := (SELECT r.rolcreaterole FROM pg_roles r WHERE r.rolname = current_user);
    v_new boolean := to_regrole(quote_ident(v_role)) IS NULL;
    v_other text;
BEGIN
    IF v_role ~ '^pg_' OR v_role IN ('recall_reader', 'recall_app', 'recall_worker') OR EXISTS (
        SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
        WHERE r.rolname = v_role AND NOT r.rolcanlogin AND (m.inherit_option OR m.set_option)
    ) THEN  -- all its members would get more
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('Role %I stands for rights of others.', v_role),
            HINT = 'Name a role that somebody logs in as.';
    END IF;
    -- Before anything is done, what is missing as one statement that an administrator can run.
    IF to_regrole(v_rights) IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format('There is no role %I on this server.', v_rights),
            HINT = format('An administrator runs: CREATE ROLE %I NOLOGIN; and then `pgrecall upgrade`.', v_rights);
    ELSIF NOT v_super AND NOT v_creates AND (v_new OR v_password <> '') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('Role %I may not create roles.', current_user),
            HINT = format('An administrator runs: ALTER ROLE %I CREATEROLE;', current_user);
    ELSIF NOT v_super AND NOT v_new AND v_password <> '' AND v_role <> current_user
          AND NOT pg_has_role(v_role, 'MEMBER WITH ADMIN OPTION') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('Role %I may not change role %I.', current_user, v_role),
            HINT = format('An administrator runs: GRANT %I TO %I WITH ADMIN OPTION, INHERIT FALSE, SET FALSE;',
                          v_role, current_user);
    ELSIF NOT v_super AND NOT pg_has_role(v_rights, 'MEMBER WITH ADMIN OPTION')
          AND (v_new OR NOT pg_has_role(v_role, v_rights, 'USAGE')) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('Role %I may not grant %I.', current_user, v_rights),
            HINT = format('An administrator runs: GRANT %I TO %I WITH ADMIN OPTION;', v_rights, current_user);
    END IF;
    IF v_new THEN
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN', v_role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- somebody makes it at this moment
        END;
    END IF;
    IF v_password <> '' THEN
        EXECUTE format('ALTER ROLE %I PASSWORD %L', v_role, v_password);
    END IF;
    FOREACH v_other IN ARRAY ARRAY['recall_reader', 'recall_app', 'recall_worker'] LOOP
        IF v_other = v_rights AND NOT pg_has_role(v_role, v_other, 'USAGE') THEN
            EXECUTE format('GRANT %I TO %I', v_other, v_role);
        ELSIF v_other <> v_rights AND EXISTS (
            SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
            WHERE m.roleid = v_other::regrole AND r.rolname = v_role) THEN
            EXECUTE format('REVOKE %I FROM %I', v_other, v_role);
        END IF;
    END LOOP;
END $$;
