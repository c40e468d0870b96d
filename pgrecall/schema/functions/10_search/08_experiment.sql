-- Experiments: sessions are assigned at random to arms that weigh vitality differently, so that use can be compared.

-- experiment_arms: the arms of an experiment. `default` uses the weight in force, `off` ignores vitality, and `other`
-- uses `search.experiment_weight`.
CREATE OR REPLACE FUNCTION recall.experiment_arms() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$ SELECT ARRAY['off', 'default', 'other'] $$;

-- experiment_arm: the arm of a session in the experiment p_number. NULL without an experiment or a session. The first 32
-- bits of a SHA-256 digest decide, so that a session has the same arm on every server. With another number, all sessions
-- are assigned again.
CREATE OR REPLACE FUNCTION recall.experiment_arm(p_tenant text, p_number bigint, p_session_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT (recall.experiment_arms())[1 + ('x' || left(encode(sha256(convert_to(
        p_number || ' ' || length(p_tenant) || ' ' || p_tenant || ' ' || p_session_id, 'UTF8')), 'hex'), 8))::bit(32)::bigint
        % cardinality(recall.experiment_arms())]
    WHERE p_number >= 1
$$;

-- require_experiment: the experiment that log_shown was given, {number, arm, weight} as in the summary of find. NULL for
-- none. Raises an error for anything else.
CREATE OR REPLACE FUNCTION recall.require_experiment(p_experiment jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF p_experiment IS NULL OR p_experiment = 'null' THEN
        RETURN NULL;
    END IF;
    IF (CASE WHEN jsonb_typeof(p_experiment) = 'object' AND recall.is_number(p_experiment -> 'number')
                 AND recall.is_number(p_experiment -> 'weight')
            THEN p_experiment ->> 'arm' = ANY (recall.experiment_arms())
                 AND (p_experiment ->> 'number')::numeric BETWEEN 1 AND 1000000
                 AND (p_experiment ->> 'number')::numeric % 1 = 0
                 AND (p_experiment ->> 'weight')::numeric BETWEEN 0 AND 10 END) IS NOT TRUE THEN
        PERFORM recall.raise_invalid(
            format('The experiment %s is not valid.', left(p_experiment::text, 100)),
            'Give {"number": ..., "arm": ..., "weight": ...} from the summary of recall.find, or null.');
    END IF;
    RETURN p_experiment;
END $$;
