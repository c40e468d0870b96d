-- What ships: layers and relevance coefficients of tenant '*'. Re-applied at every upgrade; a tenant's own
-- rows are never touched.

INSERT INTO recall.layer (tenant, name, metabolic_rate, birth_weight, profile) VALUES
    ('*', 'entity', 0.1, 2, 'identity'),
    ('*', 'knowledge', 1, 1, 'knowledge'),
    ('*', 'episodic', 2, 1, 'episodic'),
    ('*', 'activity', 3, 1, 'activity')
ON CONFLICT (tenant, name) DO NOTHING;

-- balanced is fitted (benchmarks/relevance.py); the others lean on it. identity asks for somebody, knowledge for what
-- holds, so that vitality counts less in both; episodic and activity ask for what is going on, so that what was just
-- used, its neighbours and vitality count more. seed and rrf are the blends of other systems, for comparison.
INSERT INTO recall.relevance_model (
    tenant, embedder, profile, form, intercept, similarity, no_similarity, coverage, information, phrase, name, author,
    cue, graph, vitality_weight, vitality_mode, fitted_on)
SELECT '*', '*', p.profile, p.form, -6.54, 7.15, 1.77, 2.41, 0.91, 0.5, 1.96 * p.name, 1, 2 * p.context, 0.3 * p.context,
       p.vitality_weight, p.vitality_mode, p.fitted_on
FROM (VALUES
    ('balanced', 'logistic', 1, 1, NULL::double precision, NULL,
     'all-MiniLM-L6-v2 over the judged queries of examples/: benchmarks/relevance.py'),
    ('identity', 'logistic', 1.5, 1, 0.25, NULL, 'balanced, names times 1.5'),
    ('knowledge', 'logistic', 1, 1, 0.25, NULL, 'balanced'),
    ('episodic', 'logistic', 1, 1.5, NULL, NULL, 'balanced, cues and links times 1.5'),
    ('activity', 'logistic', 1, 1.5, 1, NULL, 'balanced, cues and links times 1.5'),
    ('seed', 'seed', 1, 0, NULL, 'multiply', 'a blend: 0.3 words, 0.5 meaning, 0.2 name'),
    ('rrf', 'rrf', 1, 0, NULL, NULL, 'reciprocal ranks, k = 60')
) p(profile, form, name, context, vitality_weight, vitality_mode, fitted_on)
ON CONFLICT (tenant, embedder, profile) DO UPDATE SET
    form = excluded.form, intercept = excluded.intercept, similarity = excluded.similarity,
    no_similarity = excluded.no_similarity, coverage = excluded.coverage, information = excluded.information,
    phrase = excluded.phrase, name = excluded.name, author = excluded.author, cue = excluded.cue,
    graph = excluded.graph, vitality_weight = excluded.vitality_weight, vitality_mode = excluded.vitality_mode,
    fitted_on = excluded.fitted_on;

INSERT INTO recall.rerank_model (tenant, reranker, intercept, rerank, fused, fitted_on) VALUES
    ('*', '*', 0, 0.6, 0.4, 'a first guess')
ON CONFLICT (tenant, reranker) DO UPDATE SET
    intercept = excluded.intercept, rerank = excluded.rerank, fused = excluded.fused, fitted_on = excluded.fitted_on;

SELECT recall.make_access_partitions();

SELECT recall.settle_words();
