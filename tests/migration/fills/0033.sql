-- The turns of a conversation are a filter of a search; nothing of them is stored.

SELECT;
