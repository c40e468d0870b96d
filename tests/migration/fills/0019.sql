-- A mean vector, as the job `statistics` computes it, and one of an embedder of before.

UPDATE recall.lexeme SET mean_embedding = '[0.3, 0.1]', mean_embedder = 'an embedder of before' WHERE word = '';
