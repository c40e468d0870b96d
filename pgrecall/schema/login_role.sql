-- A login role with rights to memories: the settings recall.new_role, recall.new_rights (one of the granted roles) and
-- recall.new_password (hashed; '' for none) say which. One that is there keeps its password where none is given.
DO $$
DECLARE
    v_role text := current_setting('recall.new_role');
    v_password text := current_setting('recall.new_password');
    v_other text;
BEGIN
    IF to_regrole(quote_ident(v_role)) IS NULL THEN
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
        IF v_other = current_setting('recall.new_rights') AND NOT pg_has_role(v_role, v_other, 'USAGE') THEN
            EXECUTE format('GRANT %I TO %I', v_other, v_role);
        ELSIF v_other <> current_setting('recall.new_rights') AND EXISTS (
            SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
            WHERE m.roleid = v_other::regrole AND r.rolname = v_role) THEN
            EXECUTE format('REVOKE %I FROM %I', v_other, v_role);
        END IF;
    END LOOP;
END $$;
