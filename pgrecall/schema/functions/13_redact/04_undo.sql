-- Undoing a redact plan: memories get back what it took out.

-- unredact: gives back what a redact plan took out, where the text is as the plan left it, and keeps it no longer. Returns how
-- many memories have all of it again.
CREATE OR REPLACE FUNCTION recall_private.unredact(p_plan recall.plan, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_kept recall.redacted_text;
    v_ids bigint[] := ARRAY(
        SELECT t.memory_id FROM recall.redacted_text t
        WHERE t.tenant = p_plan.tenant AND t.plan_id = p_plan.id ORDER BY t.memory_id);
    v_whole bigint := 0;
BEGIN
    PERFORM recall_private.lock_memories(p_plan.tenant, p_changed => v_ids);
    FOR v_kept IN
        SELECT t.* FROM recall.redacted_text t
        WHERE t.tenant = p_plan.tenant AND t.plan_id = p_plan.id ORDER BY t.memory_id
    LOOP
        v_whole := v_whole + recall_private.unredact_memory(v_kept)::int;
    END LOOP;
    DELETE FROM recall.redacted_text t WHERE t.tenant = p_plan.tenant AND t.plan_id = p_plan.id;
    PERFORM recall_private.log_changes(p_plan.tenant, v_ids, 'rewritten', p_now);
    RETURN v_whole;
END $$;

-- unredact_memory: gives a memory back what was taken out, but for targets of links, which no text needs. Returns whether all
-- texts were as the plan left them, and nobody has its key.
CREATE OR REPLACE FUNCTION recall_private.unredact_memory(p_kept recall.redacted_text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_unit jsonb;
    v_place jsonb;
    v_path text[];
    v_name text;
    v_texts jsonb;
    v_key jsonb;
    v_whole boolean := true;
BEGIN
    FOR v_unit IN SELECT * FROM jsonb_array_elements(p_kept.taken) LOOP
        v_texts := recall_private.version_texts(p_kept.tenant, p_kept.memory_id, (v_unit ->> 'version')::int);
        v_key := jsonb_build_object('key', v_texts -> 'key');
        FOR v_place IN
            SELECT p.value FROM jsonb_array_elements(v_unit -> 'places') WITH ORDINALITY p(value, place)
            ORDER BY p.value -> 'name' = 'true' DESC NULLS LAST, p.place DESC  -- names first, from without
        LOOP
            v_path := recall_private.path_of(v_place);
            CONTINUE WHEN v_path[1] = 'links';
            IF v_place -> 'name' = 'true' THEN
                v_name := recall_private.replaced_spans(v_path[cardinality(v_path)], v_place -> 'spans');
                IF v_texts #> v_path IS NULL OR (v_texts #> trim_array(v_path, 1)) ? v_name THEN
                    v_whole := false;
                ELSE
                    v_texts := recall_private.renamed_field(v_texts, v_path, v_name);
                END IF;
            ELSIF md5(v_texts #>> v_path) = v_place ->> 'digest' THEN
                v_texts := jsonb_set(v_texts, v_path, to_jsonb(
                    recall_private.replaced_spans(v_texts #>> v_path, v_place -> 'spans')));
            ELSE
                v_whole := false;
            END IF;
        END LOOP;
        CONTINUE WHEN v_texts IS NULL;
        BEGIN
            PERFORM recall_private.write_texts(p_kept.tenant, p_kept.memory_id, (v_unit ->> 'version')::int, v_texts);
        EXCEPTION WHEN unique_violation THEN  -- another memory has its key
            v_whole := false;
            PERFORM recall_private.write_texts(
                p_kept.tenant, p_kept.memory_id, (v_unit ->> 'version')::int, v_texts || v_key);
        END;
    END LOOP;
    RETURN v_whole;
END $$;
