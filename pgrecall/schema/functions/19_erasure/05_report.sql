-- Reports of erasures: every table and index visited, and the places where the server may still have the texts.

-- report_digest: the SHA-256 digest of a report as Postgres writes it.
CREATE OR REPLACE FUNCTION recall_private.report_digest(p_report jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN 'sha256:' || encode(sha256(convert_to(p_report::text, 'UTF8')), 'hex');

-- visited_tables: each table and partition that was searched, how many rows were deleted, how many are left about
-- memories that are gone, and its indexes. Only accesses can be left, logged by searches under way: erase_batch raises an
-- error for a row of another table.
CREATE OR REPLACE FUNCTION recall_private.visited_tables(p_tenant text, p_counts jsonb, p_since timestamptz) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    WITH orphan AS MATERIALIZED (
        SELECT e.tableoid AS relation, count(*) AS rows FROM recall.access e
        WHERE e.tenant = p_tenant AND e.at >= p_since AND e.kind = 'retrieval' AND NOT EXISTS (
            SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = e.memory_id)
        GROUP BY e.tableoid
    )
    SELECT jsonb_agg(jsonb_build_object(
        'table', p.place, 'rows', coalesce((p_counts ->> p.place)::bigint, 0),
        'left', coalesce((SELECT o.rows FROM orphan o WHERE o.relation = p.relation), 0),
        'indexes', (SELECT coalesce(jsonb_agg(i.indexrelid::regclass::text ORDER BY i.indexrelid::regclass::text), '[]')
                    FROM pg_index i WHERE i.indrelid = p.relation)) ORDER BY p.place)
    FROM (
        SELECT m.relation, m.place FROM recall_private.places_of_memories(p_tenant) m
        UNION ALL VALUES ('recall.search_log'::regclass, 'search_log'), ('recall.lexeme'::regclass, 'lexeme')) p
$$;

-- remaining_copies: where texts may remain after their rows were deleted, and until when, as far as this server knows.
-- p_skipped names the tables whose statistics could not be computed again.
CREATE OR REPLACE FUNCTION recall_private.remaining_copies(p_skipped text) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_agg(jsonb_build_object('place', c.place, 'what', c.what, 'until', c.until) ORDER BY c.number)
    FROM (VALUES
        (1, 'table files', 'Deleted rows stay in the files of the tables and indexes named above, and in pending lists '
            'of GIN indexes. No query returns them.',
            format('VACUUM of each table; autovacuum is %s. VACUUM FULL also rewrites the files.',
                   current_setting('autovacuum'))),
        (2, 'planner statistics', concat('They were computed again from the remaining rows',
            ', but for those of ' || p_skipped || ', which other transactions held', '. Those of a table that is now empty '
            'keep a sample of its former rows, which only superusers and owners of the schema can read.'),
            concat('The table has rows and is analyzed again', ': ANALYZE ' || p_skipped, '.')),
        (3, 'write-ahead log', 'Segments written until this erasure was done hold the texts.',
            format('Postgres recycles them after later checkpoints (wal_keep_size %s, max_wal_size %s).',
                   current_setting('wal_keep_size'), current_setting('max_wal_size'))),
        (4, 'WAL archive', CASE current_setting('archive_mode') WHEN 'off' THEN 'archive_mode is off: this server keeps none.'
            ELSE format('archive_mode is %s: archived segments hold the texts.', current_setting('archive_mode')) END,
            CASE current_setting('archive_mode') WHEN 'off' THEN 'Nothing to do.'
            ELSE 'You delete the archived segments, by the retention of your archive.' END),
        (5, 'replication slots', format('There are %s; each keeps segments that its consumer has not read.',
            (SELECT count(*) FROM pg_replication_slots)),
            format('The consumers have read them (max_slot_wal_keep_size %s).', current_setting('max_slot_wal_keep_size'))),
        (6, 'standbys', format('wal_level is %s. A standby deletes the rows when it replays the deletion.',
            current_setting('wal_level')), 'Each standby has replayed, and vacuumed with this server.'),
        (7, 'backups', 'The server does not know of dumps, base backups and snapshots of disks.',
            'You delete them, by the retention of your backups. A restored backup needs this erasure again.'),
        (8, 'exports', 'Files written by `pgrecall export` or export_lines hold the texts.', 'You delete them.'),
        (9, 'server log', format('log_statement is %s, log_min_duration_statement %s, log_min_error_statement %s: '
            'logged statements can hold texts.', current_setting('log_statement'),
            current_setting('log_min_duration_statement'), current_setting('log_min_error_statement')),
            'You delete the log files.'),
        (10, 'other memories', 'What others wrote about the subject is theirs and stays.',
            'You search for the name and forget what should go.'),
        (11, 'searches under way', 'A search that ran while a memory was deleted may have logged its id, without its text.',
            'The job `fold` has run.'),
        (12, 'other programs', 'Agents, embedders and rerankers by HTTP received the texts.', 'Their own retention.')
    ) c(number, place, what, until)
$$;

-- erasure_report: the report of an erasure that is about to finish. It names the subject only by digests.
CREATE OR REPLACE FUNCTION recall_private.erasure_report(p_erasure recall.erasure, p_signed_by text, p_now timestamptz)
RETURNS jsonb
LANGUAGE sql STABLE
SET timezone = 'UTC' AS $$
    SELECT jsonb_build_object(
        'erasure', p_erasure.id, 'tenant', p_erasure.tenant, 'subject', recall_private.hashed_subject(p_erasure.subject),
        'asked_by', p_erasure.asked_by, 'planned_at', p_erasure.created_at, 'planned', p_erasure.planned,
        'signed_by', p_signed_by, 'role', session_user, 'done_at', p_now,
        'memories', coalesce((p_erasure.counts ->> 'memory')::bigint, 0),
        'arrived_since', (SELECT count(*) FROM recall_private.memories_of_subject(p_erasure.tenant, p_erasure.subject)),
        'tables', recall_private.visited_tables(p_erasure.tenant, p_erasure.counts, p_erasure.created_at),
        'remains', recall_private.remaining_copies(recall_private.not_analyzed(
            ARRAY(SELECT recall_private.sampled_places(p_erasure.tenant)))))
$$;
