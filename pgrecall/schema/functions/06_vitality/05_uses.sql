-- Uses: which accesses count as a use of a memory, and how often each memory was used.

-- is_active_access: whether an access of this kind is a use. A use spreads activation, strengthens associations and
-- restores an archived memory; storing or showing a memory does not.
CREATE OR REPLACE FUNCTION recall_private.is_active_access(p_kind text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_kind IN ('read', 'reference', 'used');

-- access_counts: how often these memories (NULL means all of the tenant) were stored, shown as a hit, and used, counted
-- from the log.
CREATE OR REPLACE FUNCTION recall_private.access_counts(p_tenant text, p_memory_id bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'stored', count(*) FILTER (WHERE a.kind = 'write'),
        'shown', count(*) FILTER (WHERE a.kind = 'retrieval'),
        'used', count(*) FILTER (WHERE recall_private.is_active_access(a.kind)))
    FROM recall.access a
    WHERE a.tenant = p_tenant
      -- In counts of the whole tenant, accesses that a merge has copied count only once, where they were.
      AND (p_memory_id IS NULL AND a.merged_from IS NULL OR a.memory_id = p_memory_id)
$$;

-- used_memories: the memories of a tenant that were used. Being stored or shown does not count.
CREATE OR REPLACE FUNCTION recall_private.used_memories(p_tenant text) RETURNS TABLE (memory_id bigint, used_at timestamptz)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT a.memory_id, max(a.at) FROM recall.access a
    WHERE a.tenant = p_tenant AND recall_private.is_active_access(a.kind)
    GROUP BY a.memory_id
$$;
