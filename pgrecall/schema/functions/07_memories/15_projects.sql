-- The project of a memory: the text `project` in its metadata.

-- projects (reader; Remember): the project of each of these memories that has one.
CREATE OR REPLACE FUNCTION recall.projects(p_ids bigint[]) RETURNS TABLE (id bigint, project text)
LANGUAGE sql STABLE ROWS 50
SET search_path FROM CURRENT AS $$
    SELECT m.id, m.metadata ->> 'project' FROM recall.memory m
    WHERE m.tenant = (SELECT recall.current_tenant()) AND m.id = ANY (p_ids)
      AND jsonb_typeof(m.metadata -> 'project') = 'string'
$$;
