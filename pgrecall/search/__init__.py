"""Search: gather, weigh by relevance and vitality, rerank, compose and explain."""
