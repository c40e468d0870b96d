-- Verification: all checks of a tenant, or one of them.

-- verification_checks: the checks that verify makes, by name.
CREATE OR REPLACE FUNCTION recall_private.verification_checks() RETURNS TABLE (name text, about text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    VALUES
    ('summaries', 'Activations agree with the access log; rebuild() repairs them.'),
    ('spreading', 'Boosts agree with the logged accesses; rebuild() repairs them.'),
    ('links', 'In-degrees and newest links agree with the links; rebuild() repairs them.'),
    ('layers', 'Memories have an activation, with the clock and decay of their layer.'),
    ('accesses', 'Logged accesses belong to existing memories.'),
    ('idempotency keys', 'Idempotency keys belong to existing memories.'),
    ('floors', 'The history of the protection floor ends with the current state of its memory.'),
    ('feedback', 'Logged searches show existing memories, and verdicts are on memories that were shown.'),
    ('archivals', 'Archived memories, and only these, have a current archival.'),
    ('versions', 'Versions are numbered without gaps, and each begins when the one before it was replaced.'),
    ('statistics', 'Document frequencies and settings have possible values.'),
    ('plans', 'Plans, their items and the archivals agree.'),
    ('merges', 'Copies in keepers belong to merged memories.'),
    ('names', 'The table of names agrees with titles and aliases.'),
    ('waiting links', 'Pending links wait for keys that no memory has; importing the memory again repairs them.'),
    ('successions', 'No memory supersedes itself, directly or through others.'),
    ('vectors', 'Embedded memories, and only these, have a vector with a direction; embedding the text again repairs them.'),
    ('passages', 'Passages are complete and lie within the text of their memory; embedding the text again repairs them.'),
    ('token signs', 'Token signs belong to memories with a vector and have one length; embedding the text again repairs them.')
$$;

-- verification_findings: all violations of a check for this tenant. `subject` is the id of a memory, or the subject
-- of the check.
CREATE OR REPLACE FUNCTION recall_private.verification_findings(p_tenant text) RETURNS TABLE (name text, subject text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT 'summaries', w::text FROM recall_private.wrong_summaries(p_tenant) w
    UNION ALL SELECT 'spreading', w::text FROM recall_private.wrong_spreads(p_tenant) w
    UNION ALL SELECT 'links', w::text FROM recall_private.wrong_degrees(p_tenant) w
    UNION ALL SELECT 'layers', w::text FROM recall_private.wrong_rates(p_tenant) w
    UNION ALL SELECT o.name, o.subject FROM recall_private.orphaned_rows(p_tenant) o
    UNION ALL SELECT 'floors', w::text FROM recall_private.wrong_floors(p_tenant) w
    UNION ALL SELECT 'feedback', w::text FROM recall_private.wrong_feedback(p_tenant) w
    UNION ALL SELECT 'archivals', w::text FROM recall_private.wrong_archivals(p_tenant) w
    UNION ALL SELECT 'versions', w::text FROM recall_private.wrong_versions(p_tenant) w
    UNION ALL SELECT 'statistics', w FROM recall_private.wrong_statistics(p_tenant) w
    UNION ALL SELECT 'plans', w::text FROM recall_private.wrong_plans(p_tenant) w
    UNION ALL SELECT 'merges', w::text FROM recall_private.wrong_merges(p_tenant) w
    UNION ALL SELECT 'names', w::text FROM recall_private.wrong_names(p_tenant) w
    UNION ALL SELECT 'waiting links', w FROM recall_private.answered_links(p_tenant) w
    UNION ALL SELECT 'successions', w::text FROM recall_private.circular_successors(p_tenant) w
    UNION ALL SELECT 'vectors', w::text FROM recall_private.wrong_vectors(p_tenant) w
    UNION ALL SELECT 'passages', w::text FROM recall_private.wrong_passages(p_tenant) w
    UNION ALL SELECT 'token signs', w::text FROM recall_private.wrong_token_signs(p_tenant) w
$$;

-- verify (reader; State): checks this tenant's data and returns one JSON document: the number of problems, and for each
-- check the number and five examples (ids of memories or plans, names of statistics, or keys).
CREATE OR REPLACE FUNCTION recall.verify(p_now timestamptz DEFAULT now()) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH found AS MATERIALIZED (
        SELECT f.name, f.subject, row_number() OVER (PARTITION BY f.name ORDER BY length(f.subject), f.subject)
                                  AS place
        FROM recall_private.verification_findings(recall.current_tenant()) f
    ), counted AS (
        SELECT c.name, c.about, c.place, count(f.subject) AS problems,
               coalesce(jsonb_agg(f.subject ORDER BY f.place) FILTER (WHERE f.place <= 5), '[]') AS examples
        FROM recall_private.verification_checks() WITH ORDINALITY c(name, about, place)
        LEFT JOIN found f ON f.name = c.name
        GROUP BY c.name, c.about, c.place
    )
    SELECT jsonb_build_object(
        'verified_at', recall_private.require_moment(p_now), 'problems', sum(o.problems),
        'checks', jsonb_agg(jsonb_build_object(
            'name', o.name, 'about', o.about, 'problems', o.problems, 'examples', o.examples) ORDER BY o.place))
    FROM counted o
$$;
