-- Searches of other that were judged, a reranker's reading, a key of the service.

INSERT INTO recall.search_log (tenant, at, session_id, query, profile, shown) VALUES
    ('other', '2026-05-25 12:00+00', 'talk-9', 'harbour', 'balanced', '{26, NULL, 27}');
INSERT INTO recall.judgement (tenant, search_id, memory_id, verdict, at) VALUES
    ('other', 1, 26, 'used', '2026-05-25 12:01+00'), ('other', 1, 27, 'rejected', '2026-05-25 12:01+00');
INSERT INTO recall.rerank_model (tenant, reranker, intercept, rerank, fused, fitted_on) VALUES
    ('other', 'some', -0.5, 0.3, 0.7, 'a few questions');
INSERT INTO recall.api_key (tenant, name, hash, created_at) VALUES ('other', 'editor', '\x00ff', '2026-05-01 12:00+00');
