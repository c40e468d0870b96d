-- Conditions on rows, which only imports checked before, and the sentences by which an import refuses a row. Each table is
-- read once.

ALTER TABLE recall.layer_median
    ADD CONSTRAINT layer_median_base_check CHECK (base BETWEEN -210 AND 210);
COMMENT ON CONSTRAINT layer_median_base_check ON recall.layer_median IS 'its median does not lie between -210 and 210';
ALTER TABLE recall.relevance_model
    ADD CONSTRAINT relevance_model_name_check CHECK (length(embedder) <= 500 AND length(profile) >= 1 AND length(profile)
        <= 100),
    ADD CONSTRAINT relevance_model_fitted_check CHECK (length(fitted_on) BETWEEN 1 AND 500);
COMMENT ON CONSTRAINT relevance_model_name_check ON recall.relevance_model IS 'its embedder or profile is empty or too long';
COMMENT ON CONSTRAINT relevance_model_fitted_check ON recall.relevance_model IS 'its fitted_on does not have 1 to 500 characters';
ALTER TABLE recall.rerank_model
    ADD CONSTRAINT rerank_model_name_check CHECK (length(reranker) >= 1 AND length(reranker) <= 500 AND (reranker <> '*'
        OR tenant = '*')),
    ADD CONSTRAINT rerank_model_coefficients_check CHECK (intercept >= -1000 AND intercept <= 1000 AND rerank >= 0 AND
        rerank <= 1000 AND fused >= 0 AND fused <= 1000),
    ADD CONSTRAINT rerank_model_fitted_check CHECK (length(fitted_on) BETWEEN 1 AND 500);
COMMENT ON CONSTRAINT rerank_model_name_check ON recall.rerank_model IS 'the name of its reranker is missing, too long or *';
COMMENT ON CONSTRAINT rerank_model_coefficients_check ON recall.rerank_model IS 'a coefficient of it is out of bounds';
COMMENT ON CONSTRAINT rerank_model_fitted_check ON recall.rerank_model IS 'its fitted_on does not have 1 to 500 characters';
ALTER TABLE recall.lexeme
    DROP CONSTRAINT lexeme_documents_check,
    DROP CONSTRAINT lexeme_mean_check,
    ADD CONSTRAINT lexeme_documents_check CHECK (documents BETWEEN 0 AND 1000000000000),
    ADD CONSTRAINT lexeme_length_check CHECK (body_length BETWEEN 0 AND 100000000),
    ADD CONSTRAINT lexeme_mean_check CHECK ((mean_embedding IS NULL) = (mean_embedder IS NULL) AND (word = '' OR
        mean_embedder IS NULL) AND length(mean_embedder) <= 500);
COMMENT ON CONSTRAINT lexeme_documents_check ON recall.lexeme IS 'its documents do not lie between 0 and 1000000000000';
COMMENT ON CONSTRAINT lexeme_length_check ON recall.lexeme IS 'its body_length does not lie between 0 and 100000000';
COMMENT ON CONSTRAINT lexeme_mean_check ON recall.lexeme IS 'its mean_embedding and mean_embedder do not belong together, or not to its word';
ALTER TABLE recall.memory_version
    ADD CONSTRAINT memory_version_writers_check CHECK (greatest(length(written_by), length(written_through),
        length(replaced_by), length(replaced_through)) <= 100 AND octet_length(author) <= 2000),
    ADD CONSTRAINT memory_version_values_check CHECK (array_position(tags, NULL) IS NULL AND array_position(aliases, NULL)
        IS NULL AND jsonb_typeof(metadata) = 'object');
COMMENT ON CONSTRAINT memory_version_writers_check ON recall.memory_version IS 'its author or who wrote or replaced it is too long';
COMMENT ON CONSTRAINT memory_version_values_check ON recall.memory_version IS 'its tags or aliases hold nulls, or its metadata is not a JSON object';
ALTER TABLE recall.token_signs
    ADD CONSTRAINT token_signs_model_check CHECK (length(model) BETWEEN 1 AND 500);
COMMENT ON CONSTRAINT token_signs_model_check ON recall.token_signs IS 'its model does not have 1 to 500 characters';
ALTER TABLE recall.activation
    DROP CONSTRAINT activation_count_check,
    ADD CONSTRAINT activation_count_check CHECK (n BETWEEN 1 AND 1000000000000),
    ADD CONSTRAINT activation_cut_check CHECK (cut_size >= 0),
    ADD CONSTRAINT activation_sessions_check CHECK (sessions >= 0 AND sessions <= 1000000000 AND (sessions = 0 OR
        sessions_at IS NOT NULL)),
    ADD CONSTRAINT activation_vitality_check CHECK (vitality >= 0 AND vitality <= 1 AND (vitality IS NULL) = (computed_at
        IS NULL));
COMMENT ON CONSTRAINT activation_count_check ON recall.activation IS 'its n does not lie between 1 and 1000000000000';
COMMENT ON CONSTRAINT activation_cut_check ON recall.activation IS 'its cut_size is negative';
COMMENT ON CONSTRAINT activation_sessions_check ON recall.activation IS 'its sessions do not lie between 0 and 1000000000, or have no sessions_at';
COMMENT ON CONSTRAINT activation_vitality_check ON recall.activation IS 'its vitality does not lie between 0 and 1, or has no computed_at';
ALTER TABLE recall.pending_link
    DROP CONSTRAINT pending_link_target_check,
    ADD CONSTRAINT pending_link_target_check CHECK (length(target) >= 1 AND length(target) <= 1000 AND
        octet_length(target) <= 2000);
COMMENT ON CONSTRAINT pending_link_target_check ON recall.pending_link IS 'its target does not have 1 to 1,000 characters in at most 2,000 bytes';
ALTER TABLE recall.link_history
    ADD CONSTRAINT link_history_relation_check CHECK (relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies',
        'supports', 'contradicts', 'derived_from', 'supersedes', 'co_access'));
COMMENT ON CONSTRAINT link_history_relation_check ON recall.link_history IS 'its relation is unknown';
ALTER TABLE recall.access
    ADD CONSTRAINT access_merge_check CHECK (merged_from <> memory_id);
COMMENT ON CONSTRAINT access_merge_check ON recall.access IS 'it was merged from its own memory';
ALTER TABLE recall.access_key
    ADD CONSTRAINT access_key_length_check CHECK (octet_length(idempotency_key) <= 1000);
COMMENT ON CONSTRAINT access_key_length_check ON recall.access_key IS 'its idempotency key has more than 1,000 bytes';
ALTER TABLE recall.access_queue
    ADD CONSTRAINT access_queue_ids_check CHECK (array_position(memory_ids, NULL) IS NULL);
COMMENT ON CONSTRAINT access_queue_ids_check ON recall.access_queue IS 'one of its memory_ids is null';
ALTER TABLE recall.plan_item
    ADD CONSTRAINT plan_item_place_check CHECK (place >= 0),
    ADD CONSTRAINT plan_item_values_check CHECK (vitality >= 0 AND vitality <= 1 AND coalesce(similarity >= -1 AND
        similarity <= 1, true)),
    ADD CONSTRAINT plan_item_terms_check CHECK (coalesce(jsonb_typeof(terms) = 'object' AND jsonb_typeof(impact) =
        'object', true)),
    ADD CONSTRAINT plan_item_sessions_check CHECK (sessions_before >= 0 AND sessions_before <= 1000000000 AND
        coalesce(sessions_at_before BETWEEN -62135424000 AND 253402128000, true));
COMMENT ON CONSTRAINT plan_item_place_check ON recall.plan_item IS 'its place is negative';
COMMENT ON CONSTRAINT plan_item_values_check ON recall.plan_item IS 'its vitality or similarity is out of bounds';
COMMENT ON CONSTRAINT plan_item_terms_check ON recall.plan_item IS 'its terms or its impact is not a JSON object';
COMMENT ON CONSTRAINT plan_item_sessions_check ON recall.plan_item IS 'its sessions are out of bounds';
ALTER TABLE recall.search_log
    ADD CONSTRAINT search_log_length_check CHECK (length(query) <= 10000 AND length(profile) <= 100);
COMMENT ON CONSTRAINT search_log_length_check ON recall.search_log IS 'its query has more than 10,000 characters, or its profile more than 100';

-- How far a memory is a question is a part of one, not yes or no: one may also hold a statement.
ALTER TYPE recall.evidence ALTER ATTRIBUTE question TYPE double precision;
DROP FUNCTION IF EXISTS recall_private.relevance_logit;  -- other arguments
DROP FUNCTION IF EXISTS recall_private.keep_connected, recall_private.contracted_graph, recall_private.kept_back_candidates;
