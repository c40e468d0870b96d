-- Who may do what, declared in one place. Roles other than the owner reach no table. They call the functions named here,
-- which act as the owner (SECURITY DEFINER) and read the tenant themselves. Row security on every table is the second
-- defence, for roles that an administrator lets read tables. Every upgrade applies the declaration; `pgrecall doctor`
-- compares it with the database.

-- declared_functions: the functions of the schema recall, which people and programs call, and the lowest role that may call
-- each: recall_reader reads, recall_app also writes, recall_worker also runs jobs. Those for recall_owner act as their
-- caller, who must be the owner. All other functions are in the schema recall_private, which only the owner may use.
CREATE OR REPLACE FUNCTION recall_private.declared_functions() RETURNS TABLE (name text, least_role text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT u, 'recall_reader' FROM unnest(ARRAY[
        'access_problems', 'accesses_of', 'associates', 'caller', 'content_hashes', 'current_tenant', 'explain',
        'explain_miss', 'explain_vitality', 'export_lines', 'feedback_by_memory', 'feedback_by_rank', 'feedback_qrels', 'find', 'get',
        'health_report', 'hit_explanation', 'id_of', 'installation', 'job_runs', 'job_states', 'keys_of_source', 'overview',
        'erasures', 'experiment', 'get_erasure', 'languages', 'layers', 'list_memories', 'logged_searches', 'neighbourhood', 'count_pending_links', 'presets', 'prune_candidates',
        'plans', 'projects', 'get_plan', 'imports', 'quality', 'queries_without_names', 'relevance_models', 'require_memory',
        'rerank_models', 'schema_state', 'search', 'settings', 'similarities', 'status', 'successors', 'unanswered_queries', 'unused_imports', 'verify',
        'vitality', 'vitality_as_of', 'vitality_curve', 'vitality_histogram', 'zones_as_of',
        'zones_over_time',
        'change_cursor', 'changes', 'completed_query', 'derivations', 'diff_versions', 'stale_summaries', 'stored_texts', 'versions']) u
    UNION ALL
    SELECT u, 'recall_app' FROM unnest(ARRAY[
        'add_reader', 'readers', 'remove_reader', 'share', 'admit_tenant', 'close_grant', 'grants', 'end_grant', 'exchange_grant', 'find_grant', 'has_active_key', 'open_grant', 'apply_plan', 'apply_erasure', 'begin_import', 'census', 'close_page_session', 'set_setting', 'create_key', 'drop_layer', 'edit', 'end_import',
        'find_duplicates', 'fold_accesses', 'forget', 'forget_session', 'key_holder', 'move_vectors_to_own_table', 'import_lines', 'keys', 'open_page_session', 'page_session_tenant', 'link', 'log_shown', 'pin',
        'plan_dedupe', 'plan_erasure', 'plan_merge', 'plan_prune', 'plan_redact', 'drop_erasure', 'drop_plan', 'rebuild', 'record_access',
        'record_accesses', 'refresh_graph', 'refresh_lexemes', 'refresh_medians', 'refresh_statistics', 'refresh_vitality',
        'rejected', 'remember', 'remember_many', 'rename_keys', 'reset_relevance_model', 'reset_rerank_model', 'revoke_key',
        'search_and_log', 'set_language', 'set_layer', 'resolve_pending_links', 'store_relevance_model',
        'store_rerank_model', 'supersede', 'unarchive', 'unarchive_session', 'undo_plan', 'unlink', 'archive_imported', 'rename_imported', 'store_imported', 'undo_import', 'use_preset',
        'used',
        'restore_version']) u
    UNION ALL
    SELECT u, 'recall_worker' FROM unnest(ARRAY[
        'alarm_changes', 'begin_job', 'begin_reembedding', 'count_unembedded', 'due_tenants', 'end_job', 'expire_memories', 'expire_searches', 'shortest_job_interval',
        'make_access_partitions', 'report_job', 'run_due_job', 'store_embeddings', 'tenants', 'unembedded',
        'expire_changes']) u
    UNION ALL
    SELECT u, 'recall_owner' FROM unnest(ARRAY['bind_role', 'forget_tenant', 'role_bindings', 'unbind_role']) u
$$;

-- declared_policies: the policies of every table that others than the owner may be allowed to read. A role sees and
-- changes the rows of its tenant, and sees rows of '*' where they apply to all tenants. The sub-select makes Postgres
-- call the function once for each query.
CREATE OR REPLACE FUNCTION recall_private.declared_policies()
RETURNS TABLE (relation oid, policy text, command text, condition text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT c.oid, p.policy, p.command, p.condition
    FROM pg_class c
    CROSS JOIN (VALUES
        ('own', 'ALL', '(tenant = ( SELECT current_tenant() AS current_tenant))'),
        ('shared', 'SELECT', '(tenant = ''*''::text)')) p(policy, command, condition)
    WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p')
      -- For the owner alone: bindings, digests of keys, sessions and tokens, readers, residents, and the table of Alembic.
      AND c.relname NOT IN ('tenant_role', 'api_key', 'page_session', 'oauth_grant', 'reader', 'resident', 'alembic_version')
      AND (p.policy = 'own' OR c.relname IN ('job_run', 'layer', 'relevance_model', 'rerank_model'))
$$;

-- protect_table: enables row security and creates the declared policies on one table.
CREATE OR REPLACE FUNCTION recall_private.protect_table(p_table regclass) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_statement text;
BEGIN
    FOREACH v_statement IN ARRAY ARRAY(SELECT p.fix FROM recall_private.table_problems() p WHERE p.relation = p_table) LOOP
        EXECUTE v_statement;
    END LOOP;
END $$;

-- apply_declared_access: makes owners, rights, row security and policies agree with the declaration. Returns the number
-- of changes. Only for the owner. It takes two passes, because a right that is revoked as a whole may have to be granted
-- again in part.
CREATE OR REPLACE FUNCTION recall_private.apply_declared_access() RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_changed int := 0;
    v_statement text;
BEGIN
    FOR v_pass IN 1 .. 2 LOOP
        FOREACH v_statement IN ARRAY ARRAY(SELECT p.fix FROM recall.access_problems() p WHERE p.ours) LOOP
            EXECUTE v_statement;
            v_changed := v_changed + 1;
        END LOOP;
    END LOOP;
    RETURN v_changed;
END $$;
