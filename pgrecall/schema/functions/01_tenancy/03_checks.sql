-- Functions that raise errors, and checks of arguments that many functions share.

-- shortened: a sentence without the middle of a long value that it quotes.
CREATE OR REPLACE FUNCTION recall_private.shortened(p_sentence text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length(p_sentence) > 2000 THEN left(p_sentence, 500) || ' … ' || right(p_sentence, 500) ELSE p_sentence END;

-- raise_denied: raises insufficient_privilege with a sentence (the full stop is added) and a hint.
CREATE OR REPLACE FUNCTION recall_private.raise_denied(p_sentence text, p_hint text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = recall_private.shortened(p_sentence) || '.', HINT = p_hint;
END $$;

-- raise_invalid: raises invalid_parameter_value with a sentence and a hint.
CREATE OR REPLACE FUNCTION recall_private.raise_invalid(p_sentence text, p_hint text DEFAULT '') RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_hint = '' THEN  -- psql would show an empty one
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = recall_private.shortened(p_sentence);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = recall_private.shortened(p_sentence), HINT = p_hint;
END $$;

-- roles: the roles that a memory and a turn can have.
CREATE OR REPLACE FUNCTION recall_private.roles() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['user', 'assistant', 'system', 'tool'];

-- epoch: seconds since 1970-01-01 UTC, the unit of times in the activation summary.
CREATE OR REPLACE FUNCTION recall_private.epoch(p_at timestamptz) RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.date_part('epoch', p_at);

-- require_moment: returns the moment. Raises an error for NULL, for an infinity, and outside the years 1 to 9999, which
-- clients cannot read.
CREATE OR REPLACE FUNCTION recall_private.require_moment(p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF NOT coalesce(isfinite(p_now), false) THEN
        PERFORM recall_private.raise_invalid(format('p_now is %s; it must be a moment.', coalesce(p_now::text, 'NULL')));
    ELSIF p_now < '0001-01-03 UTC' OR p_now >= '9999-12-30 UTC' THEN  -- as for imported times: in no time zone another year
        PERFORM recall_private.raise_invalid(format('p_now is %s; it must lie in the years 1 to 9999.', p_now));
    END IF;
    RETURN p_now;
END $$;

-- require_limit: returns the limit. Raises an error if it is negative. NULL means no limit.
CREATE OR REPLACE FUNCTION recall_private.require_limit(p_limit int) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_limit < 0 THEN
        PERFORM recall_private.raise_invalid(format('p_limit is %s; it must not be negative.', p_limit));
    END IF;
    RETURN p_limit;
END $$;

-- require_between: returns the number. Raises an error if it is not between p_low and p_high.
CREATE OR REPLACE FUNCTION recall_private.require_between(p_number int, p_low int, p_high int, p_argument text) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_number IS NULL OR p_number NOT BETWEEN p_low AND p_high THEN
        PERFORM recall_private.raise_invalid(format('%s is %s; it must lie between %s and %s.', p_argument,
            coalesce(p_number::text, 'NULL'), p_low, p_high));
    END IF;
    RETURN p_number;
END $$;

-- require_one_dimension: returns the array. Raises an error if it has several dimensions.
CREATE OR REPLACE FUNCTION recall_private.require_one_dimension(p_values anyarray) RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF array_ndims(p_values) > 1 THEN
        PERFORM recall_private.raise_invalid(format('An array of %s dimensions was given; it must have one.', array_ndims(p_values)));
    END IF;
    RETURN p_values;
END $$;
