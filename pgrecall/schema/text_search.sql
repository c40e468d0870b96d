-- Text search configurations of our own, one for each language the server stems, and `simple`: copies in which
-- accents are taken off a word before it is stemmed, where the extension unaccent can be had. Applied before the
-- revisions at every install and upgrade; a configuration that is there is left as it is.

-- The dictionary recall.unaccent: that of the extension, or one that lets every word through as it is. An upgrade
-- after the extension has arrived puts the former in the latter's place.
DO $$
DECLARE
    v_template text;
    v_present text;
    v_configuration text;
BEGIN
    SELECT format('%I.%I', n.nspname, t.tmplname) INTO v_template
    FROM pg_ts_template t
    JOIN pg_depend d ON d.classid = 'pg_ts_template'::regclass AND d.objid = t.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'unaccent'
    JOIN pg_namespace n ON n.oid = t.tmplnamespace;
    SELECT t.tmplname INTO v_present
    FROM pg_ts_dict d JOIN pg_ts_template t ON t.oid = d.dicttemplate
    WHERE d.dictnamespace = 'recall'::regnamespace AND d.dictname = 'unaccent';
    IF v_present = 'unaccent' OR v_present = 'simple' AND v_template IS NULL THEN
        RETURN;
    ELSIF v_template IS NULL THEN
        CREATE TEXT SEARCH DICTIONARY recall.unaccent (TEMPLATE = pg_catalog.simple, ACCEPT = false);
    ELSIF v_present IS NULL THEN
        EXECUTE format('CREATE TEXT SEARCH DICTIONARY recall.unaccent (TEMPLATE = %s, RULES = unaccent)', v_template);
    ELSE
        EXECUTE format('CREATE TEXT SEARCH DICTIONARY recall.coming (TEMPLATE = %s, RULES = unaccent)', v_template);
        FOR v_configuration IN
            SELECT c.cfgname FROM pg_ts_config c WHERE c.cfgnamespace = 'recall'::regnamespace
        LOOP
            EXECUTE format(
                'ALTER TEXT SEARCH CONFIGURATION recall.%I ALTER MAPPING REPLACE recall.unaccent WITH recall.coming',
                v_configuration);
        END LOOP;
        DROP TEXT SEARCH DICTIONARY recall.unaccent;
        ALTER TEXT SEARCH DICTIONARY recall.coming RENAME TO unaccent;
    END IF;
END $$;

-- The configurations. Stop words are dropped as they are written, accents and all, before accents are taken off.
DO $$
DECLARE
    v record;
BEGIN
    FOR v IN
        SELECT c.cfgname AS name, d.dictname AS stemmer,
               substring(d.dictinitoption FROM 'stopwords = ''([a-z_]+)''') AS stop_words
        FROM pg_ts_config c
        JOIN pg_ts_config_map m ON m.mapcfg = c.oid
        JOIN ts_token_type(c.cfgparser) k ON k.tokid = m.maptokentype AND k.alias = 'word'
        JOIN pg_ts_dict d ON d.oid = m.mapdict
        WHERE c.cfgnamespace = 'pg_catalog'::regnamespace AND NOT EXISTS (
            SELECT FROM pg_ts_config o WHERE o.cfgnamespace = 'recall'::regnamespace AND o.cfgname = c.cfgname)
        ORDER BY c.cfgname
    LOOP
        EXECUTE format('CREATE TEXT SEARCH CONFIGURATION recall.%I (COPY = pg_catalog.%1$I)', v.name);
        IF v.stop_words IS NOT NULL THEN
            EXECUTE format(
                'CREATE TEXT SEARCH DICTIONARY recall.%I (TEMPLATE = pg_catalog.simple, STOPWORDS = %I, ACCEPT = false)',
                v.name || '_stop', v.stop_words);
        END IF;
        EXECUTE format(
            'ALTER TEXT SEARCH CONFIGURATION recall.%I ALTER MAPPING FOR word, hword, hword_part WITH %s recall.unaccent, %s',
            v.name, CASE WHEN v.stop_words IS NOT NULL THEN format('recall.%I,', v.name || '_stop') END,
            format('pg_catalog.%I', v.stemmer));
        EXECUTE format(
            'ALTER TEXT SEARCH CONFIGURATION recall.%I ALTER MAPPING FOR numword, numhword, hword_numpart '
            'WITH recall.unaccent, pg_catalog.simple', v.name);
    END LOOP;
END $$;
