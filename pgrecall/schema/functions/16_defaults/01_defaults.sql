-- What ships: layers and relevance coefficients of tenant '*'. Re-applied at every upgrade; a tenant's own
-- rows are never touched.

INSERT INTO recall.layer (tenant, name, metabolic_rate, birth_weight, profile) VALUES
    ('*', 'entity', 0.1, 2, 'identity'),
    ('*', 'knowledge', 1, 1, 'knowledge'),
    ('*', 'episodic', 2, 1, 'episodic'),
    ('*', 'activity', 3, 1, 'activity')
ON CONFLICT (tenant, name) DO NOTHING;

-- balanced is fitted, with the weights of author and graph chosen; the others are balanced with some weights times a
-- factor and constants fitted anew: benchmarks/relevance.py prints these rows, docs/howto/calibrate.md tells how well
-- they do. identity asks for somebody and knowledge for what holds, so that vitality counts less in both; episodic and
-- activity ask for what is going on. seed and rrf are the blends of other systems, for comparison.
INSERT INTO recall.relevance_model (
    tenant, embedder, profile, form, intercept, similarity, no_similarity, coverage, information, name, author, phrase,
    cue, period, session_coverage, graph, vitality_weight, vitality_mode, fitted_on) VALUES
    ('*', '*', 'balanced', 'logistic', -6.69, 7.58, 1.87, 1.63, 0.92, 1.79, 1.00, 0.96, 4.68, 1.00, 0.52, 0.30, NULL, NULL,
     'all-MiniLM-L6-v2 over the judged queries of examples/: benchmarks/relevance.py'),
    ('*', '*', 'identity', 'logistic', -6.77, 7.58, 1.84, 1.63, 0.92, 2.68, 1.50, 0.96, 4.68, 1.00, 0.52, 0.30, 0.25, NULL,
     'balanced with name times 1.5, author times 1.5'),
    ('*', '*', 'knowledge', 'logistic', -6.74, 7.58, 1.86, 1.63, 0.92, 1.79, 1.00, 1.44, 4.68, 1.00, 0.52, 0.45, 0.25, NULL,
     'balanced with graph times 1.5, phrase times 1.5'),
    ('*', '*', 'episodic', 'logistic', -6.80, 7.58, 1.85, 1.63, 0.92, 1.79, 1.00, 0.96, 7.02, 1.00, 0.52, 0.45, NULL, NULL,
     'balanced with cue times 1.5, graph times 1.5'),
    ('*', '*', 'activity', 'logistic', -6.75, 7.58, 1.86, 1.63, 0.92, 1.79, 1.00, 0.96, 7.02, 1.00, 0.52, 0.30, 0.65, NULL,
     'balanced with cue times 1.5'),
    ('*', '*', 'seed', 'seed', 0, 0.5, 0, 0.3, 0, 0.2, 0, 0, 0, 0, 0, 0, NULL, 'multiply',
     'a blend: 0.5 meaning + 0.3 words + 0.2 names, times vitality'),
    ('*', '*', 'rrf', 'rrf', 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, NULL, NULL,
     'reciprocal ranks of meaning, words and names, k = 60')
ON CONFLICT (tenant, embedder, profile) DO UPDATE SET
    form = excluded.form, intercept = excluded.intercept, similarity = excluded.similarity,
    no_similarity = excluded.no_similarity, coverage = excluded.coverage, information = excluded.information,
    phrase = excluded.phrase, name = excluded.name, author = excluded.author, cue = excluded.cue,
    period = excluded.period, session_coverage = excluded.session_coverage, graph = excluded.graph,
    vitality_weight = excluded.vitality_weight, vitality_mode = excluded.vitality_mode,
    fitted_on = excluded.fitted_on;

INSERT INTO recall.rerank_model (tenant, reranker, intercept, rerank, fused, fitted_on) VALUES
    ('*', '*', -0.27, 0.4, 0.73, 'a MiniLM cross-encoder over 105 judged queries of examples/, which it was not trained on')
ON CONFLICT (tenant, reranker) DO UPDATE SET
    intercept = excluded.intercept, rerank = excluded.rerank, fused = excluded.fused, fitted_on = excluded.fitted_on;

SELECT recall.make_access_partitions();

SELECT recall.reindex_changed_words();
