-- Names: titles and aliases of memories, and how names are compared.

-- normalized_name: the form in which names are compared: folded as words are, lower case, one space between words, no
-- space around.
CREATE OR REPLACE FUNCTION recall_private.normalized_name(p_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(lower(recall_private.folded(p_name)), '\s+', ' ', 'g'));

-- update_names: trigger that updates the table of names when titles and aliases of memories change.
CREATE OR REPLACE FUNCTION recall_private.update_names() RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM recall.name n WHERE n.tenant = OLD.tenant AND n.memory_id = OLD.id;
    END IF;
    INSERT INTO recall.name (tenant, name, memory_id, entity)
    SELECT DISTINCT NEW.tenant, recall_private.normalized_name(known), NEW.id, NEW.layer = 'entity'
    FROM unnest(NEW.title || NEW.aliases) known
    WHERE recall_private.normalized_name(known) <> '' AND length(known) <= 200;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER memory_names_inserted AFTER INSERT ON recall.memory
FOR EACH ROW WHEN (NEW.title <> '' OR NEW.aliases <> '{}') EXECUTE FUNCTION recall_private.update_names();

CREATE OR REPLACE TRIGGER memory_names_updated AFTER UPDATE OF layer, title, aliases ON recall.memory
FOR EACH ROW WHEN (
    (OLD.layer, OLD.title, OLD.aliases) IS DISTINCT FROM (NEW.layer, NEW.title, NEW.aliases)) EXECUTE FUNCTION recall_private.update_names();
