-- What ships: layers and relevance coefficients of tenant '*'. Re-applied at every upgrade; a tenant's own
-- rows are never touched.

INSERT INTO recall.layer (tenant, name, metabolic_rate, birth_weight, profile) VALUES
    ('*', 'entity', 0.1, 2, 'identity'),
    ('*', 'knowledge', 1, 1, 'knowledge'),
    ('*', 'episodic', 2, 1, 'episodic'),
    ('*', 'activity', 3, 1, 'activity')
ON CONFLICT (tenant, name) DO NOTHING;

INSERT INTO recall.relevance_model (
    tenant, embedder, profile, intercept, similarity, no_similarity, coverage, information, name, author,
    fitted_on) VALUES
    ('*', '*', 'balanced', -6.54, 7.15, 1.77, 2.41, 0.91, 1.96, 1,
     'all-MiniLM-L6-v2 over the judged queries of examples/: benchmarks/relevance.py')
ON CONFLICT (tenant, embedder, profile) DO UPDATE SET
    intercept = excluded.intercept, similarity = excluded.similarity,
    no_similarity = excluded.no_similarity, coverage = excluded.coverage,
    information = excluded.information, name = excluded.name, author = excluded.author,
    fitted_on = excluded.fitted_on;

SELECT recall.make_access_partitions();
