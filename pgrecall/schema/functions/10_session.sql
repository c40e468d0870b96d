-- Who is asking, and how functions refuse: the ground every other function stands on.

-- current_tenant: the tenant of this transaction, set by `SET LOCAL recall.tenant`; an error without one.
CREATE OR REPLACE FUNCTION recall.current_tenant() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := nullif(current_setting('recall.tenant', true), '');
BEGIN
    IF v_tenant IS NULL OR v_tenant = '*' THEN
        PERFORM recall.reject(
            'No tenant is set for this transaction.',
            'Run: SELECT set_config(''recall.tenant'', ''your-tenant'', true);');
    END IF;
    RETURN v_tenant;
END $$;

-- reject: raises invalid_parameter_value with a sentence and the way out; never returns.
CREATE OR REPLACE FUNCTION recall.reject(p_sentence text, p_hint text DEFAULT '') RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = p_sentence, HINT = p_hint;
END $$;

-- epoch: seconds since 1970-01-01 UTC, as the activation summary keeps them.
CREATE OR REPLACE FUNCTION recall.epoch(p_at timestamptz) RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.date_part('epoch', p_at);

-- finite: the same moment; an error for NULL and for the infinities, at which nothing can be computed.
CREATE OR REPLACE FUNCTION recall.finite(p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT coalesce(isfinite(p_now), false) THEN
        PERFORM recall.reject(format('p_now is %s; it must be a moment.', coalesce(p_now::text, 'NULL')));
    END IF;
    RETURN p_now;
END $$;
