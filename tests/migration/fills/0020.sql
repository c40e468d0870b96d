-- A search that an experiment has ranked.

UPDATE recall.search_log SET experiment = 1, arm = 'other', arm_weight = 1.5 WHERE tenant = 'other';
