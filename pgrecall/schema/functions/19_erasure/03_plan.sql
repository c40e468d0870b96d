-- Plans of erasures: what would be deleted, for review.

-- plan_erasure (app; Erasures): stores which memories of this tenant belong to a subject, and returns the id of the
-- erasure. Deletes nothing. p_asked_by names the person who asked for it.
CREATE OR REPLACE FUNCTION recall.plan_erasure(p_subject jsonb, p_asked_by text, p_now timestamptz DEFAULT now())
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_subject jsonb := recall_private.require_subject(p_subject);
    v_ids bigint[];
    v_erasure bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_person(p_asked_by, 'asked for');
    v_ids := ARRAY(SELECT recall_private.memories_of_subject(v_tenant, v_subject));
    PERFORM recall_private.lock_memories(v_tenant, v_ids);
    v_ids := ARRAY(SELECT recall_private.memories_of_subject(v_tenant, v_subject, v_ids));
    INSERT INTO recall.erasure (tenant, subject, asked_by, created_at, planned)
    VALUES (v_tenant, v_subject, btrim(p_asked_by), p_now, cardinality(v_ids)) RETURNING id INTO v_erasure;
    INSERT INTO recall.erasure_item (tenant, erasure_id, memory_id)
    SELECT v_tenant, v_erasure, u.id FROM unnest(v_ids) WITH ORDINALITY u(id, place) ORDER BY u.place;
    RETURN v_erasure;
END $$;

-- require_person: returns the name of a person. Raises an error if it is empty or longer than 200 characters.
CREATE OR REPLACE FUNCTION recall_private.require_person(p_name text, p_deed text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF coalesce(length(btrim(p_name)), 0) NOT BETWEEN 1 AND 200 THEN
        PERFORM recall_private.raise_invalid(format('The name of the person who %s this erasure has 1 to 200 characters, not %s.',
            p_deed, coalesce(length(btrim(p_name)), 0)));
    END IF;
    RETURN btrim(p_name);
END $$;

-- require_erasure: the erasure of this tenant with this id. Raises an error if there is none.
CREATE OR REPLACE FUNCTION recall_private.require_erasure(p_tenant text, p_id bigint) RETURNS recall.erasure
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_erasure recall.erasure;
BEGIN
    SELECT e.* INTO v_erasure FROM recall.erasure e WHERE e.tenant = p_tenant AND e.id = p_id;
    IF NOT FOUND THEN
        PERFORM recall_private.raise_invalid(format('There is no erasure %s in this tenant.', coalesce(p_id::text, 'NULL')),
            'List them with `pgrecall erasure list`.');
    END IF;
    RETURN v_erasure;
END $$;

-- get_erasure (reader; Erasures): an erasure as a document: its subject, state and counts of rows by table (for a plan
-- the rows found now, otherwise the deleted ones), the number of `remaining` memories, up to p_sample of them, and the
-- report of a finished erasure. `intact` says whether the report still has its digest.
CREATE OR REPLACE FUNCTION recall.get_erasure(p_id bigint, p_sample int DEFAULT 10) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_erasure recall.erasure := recall_private.require_erasure(v_tenant, p_id);
    v_ids bigint[] := ARRAY(SELECT i.memory_id FROM recall.erasure_item i
                            WHERE i.tenant = v_tenant AND i.erasure_id = p_id ORDER BY i.memory_id);
BEGIN
    PERFORM recall_private.require_between(p_sample, 0, 1000, 'p_sample');
    RETURN jsonb_build_object(
        'id', v_erasure.id, 'state', v_erasure.state, 'subject', v_erasure.subject, 'asked_by', v_erasure.asked_by,
        'created_at', v_erasure.created_at, 'planned', v_erasure.planned, 'remaining', cardinality(v_ids),
        'counts', CASE v_erasure.state WHEN 'planned' THEN recall_private.count_rows_about(v_tenant, v_ids)
                                       ELSE v_erasure.counts END,
        'sample', coalesce((
            SELECT jsonb_agg(jsonb_build_object(
                'id', m.id, 'key', m.key, 'layer', m.layer, 'author', m.author,
                'title', coalesce(nullif(m.title, ''), left(m.body, 60))) ORDER BY m.id)
            FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = ANY (v_ids[1 : p_sample])), '[]'),
        'report', v_erasure.report, 'digest', v_erasure.digest,
        'intact', recall_private.report_digest(v_erasure.report) = v_erasure.digest);
END $$;

-- erasures (reader; Erasures): this tenant's erasures, newest first.
CREATE OR REPLACE FUNCTION recall.erasures(p_limit int DEFAULT 20)
RETURNS TABLE (
    id bigint, state text, subject jsonb, asked_by text, created_at timestamptz, planned bigint, remaining bigint,
    digest text
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    RETURN QUERY
    SELECT e.id, e.state, e.subject, e.asked_by, e.created_at, e.planned,
           (SELECT count(*) FROM recall.erasure_item i WHERE i.tenant = v_tenant AND i.erasure_id = e.id), e.digest
    FROM recall.erasure e WHERE e.tenant = v_tenant
    ORDER BY e.id DESC LIMIT recall_private.require_between(p_limit, 1, 10000, 'p_limit');
END $$;

-- drop_erasure (app; Erasures): deletes the plan of an erasure that has not deleted anything yet.
CREATE OR REPLACE FUNCTION recall.drop_erasure(p_id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_erasure recall.erasure;
BEGIN
    PERFORM FROM recall.erasure e WHERE e.tenant = v_tenant AND e.id = p_id FOR UPDATE;
    v_erasure := recall_private.require_erasure(v_tenant, p_id);
    IF v_erasure.state <> 'planned' THEN
        PERFORM recall_private.raise_invalid(format('Erasure %s was begun already; its record stays.', p_id));
    END IF;
    DELETE FROM recall.erasure e WHERE e.tenant = v_tenant AND e.id = p_id;
    RETURN true;
END $$;
