-- Whose words a query asks for, and of whom, found by rules for English, German and Spanish. Long texts are in bodies that are
-- strings (see 10_query_intent.sql).

-- did_words: matches a query about what somebody did, whatever else it has.
CREATE OR REPLACE FUNCTION recall_private.did_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    -- English
    'did | (have | had) <-> (i | we) | (which | what) <-> time | '
    -- German
    || '(hab | habe | hatte | hatten | haben) <-> (ich | wir) | (hast | hattest) <-> du | '
    -- Spanish
    || '(he | (había | habia) | hemos | (habíamos | habiamos)) <2> (dicho | hecho | comprado) | hice | hicimos | '
    || 'hiciste'
)::tsquery;

-- assistant_words: matches a query about what the assistant said.
CREATE OR REPLACE FUNCTION recall_private.assistant_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '((did | had | didn <-> t | hadn <-> t) <-> (you | u) & !(did <-> (you | u) <-> (ever | know | see | hear | notice '
    || '| get | miss | watch | read | enjoy | mean | find | like))) | (did | have) <-> you <-> (ever | also | not | just | '
    || 'already | told | said | given | suggested | recommended | advised | proposed | mentioned | explained | warned) | '
    || 'were <-> (you | u) <-> (telling | saying | suggesting) | (you | u) <-> (told | suggested | recommended | said | '
    || 'gave | advised | warned | proposed | explained | mentioned | drafted | listed | named | drew | wrote | calculated '
    || '| showed | taught | described | reminded | picked | allowed | wanted | promised | (had | made | let) <-> me | came '
    || '<-> up <-> with | worked <-> out | answered | replied) | (you | u) <-> (once | d) <-> (told | said | '
    || 'given | named | suggested | recommended | advised | mentioned | explained | listed | written | drawn) | (your | '
    || 'ur) <-> (advice | reply | proposal | idea | recommendation | recommendations | suggestion | suggestions | tip | '
    || 'tips | order | trick | routine | steps | method | answer | explanation | list | plan | rule | rules | words | '
    || 'draft | programme | program | schedule | system | paragraphs | warning) | your <2> (advice | recommendation | '
    || 'suggestion | tip | tips | routine | steps | method | plan | list | rules | system | programme | paragraphs | words '
    || '| draft) | according <-> to <-> you | of <-> yours | says <-> the <-> assistant | '
    -- German
    || 'hattest <-> du | ((hast | hatten | haben) <-> (du | sie) | du <-> (hast | hattest)) & (gesagt | (erwähnt | '
    || 'erwaehnt | erwahnt) | empfohlen | geraten | vorgeschlagen | genannt | gegeben | gemeint | geantwortet | '
    || 'beantwortet | (erklärt | erklaert | erklart) | geschrieben | formuliert | ausgerechnet | aufgeschrieben | gezeigt '
    || '| aufgelistet | gewarnt | beschrieben) | (haben | hatten) <-> sie <-> (mir | uns) | hast <-> du <-> (mir | uns) | '
    || '(du <-> mir | sie <-> mir) <-> (empfohlen | geraten | gesagt | vorgeschlagen | gegeben) | (dein | deine | deinen | '
    || 'deinem | deiner | ihr | ihre | ihrem) <-> (rat | antwort | tipp | tipps | vorschlag | (vorschläge | vorschlaege | '
    || 'vorschlage) | ratschlag | empfehlung | empfehlungen | plan | liste) | '
    -- Spanish
    || '(tuya | tuyo | tuyas | tuyos) | me <-> (hablaste | dijiste | recomendaste | aconsejaste | sugeriste | diste | '
    || 'explicaste | propusiste | mencionaste | armaste | calculaste | hiciste | pasaste | contaste | escribiste | '
    || 'preparaste | enseñaste | indicaste | redactaste | pusiste | contestaste | respondiste | avisaste | prometiste | '
    || 'aconsejabas | recomendabas) | (dijiste | recomendaste | aconsejaste | sugeriste | propusiste) | me <-> (has | '
    || '(habías | habias)) <-> (dicho | recomendado | aconsejado | sugerido) | (tu | tus) <-> (consejo | consejos | '
    || '(recomendación | recomendacion) | recomendaciones | sugerencia | sugerencias | plan | lista)'
)::tsquery
$$;

-- user_words: matches a query about what the user said.
CREATE OR REPLACE FUNCTION recall_private.user_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(did | have | had) <-> (i | we) <-> (say | said | tell | told | mention | mentioned | write | describe | '
    || 'described) | (did | have | had) <-> (i | we) <-> (ever | already | also) <-> (say | said | tell | told | '
    || 'mention | mentioned | describe | described) | i <-> (said | mentioned | described | told <-> you) | '
    -- German
    || '(hab | habe | hatte) <-> ich <-> (dir | ihnen) | (hab | habe | haben | hatte | hatten) & (ich | wir) & '
    || '(gesagt | (erzählt | erzaehlt | erzahlt) | (erwähnt | erwaehnt | erwahnt) | geschrieben | berichtet) | '
    -- Spanish
    || 'te <-> (dije | (conté | conte) | (mencioné | mencione)) | te <-> (he | (había | habia)) <-> (dicho | '
    || 'contado | mencionado) | (dije | (conté | conte) | (mencioné | mencione))'
)::tsquery
$$;

-- asked_words: matches a query about what was asked.
CREATE OR REPLACE FUNCTION recall_private.asked_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(did | have | had) <-> (i | we) <-> (ask | asked | want <-> to <-> know | wonder | wondered) | (did | have | had) '
    || '<-> (i | we) <-> (ever | already | also) <-> (ask | asked | wonder | wondered) | (i | we) <-> (asked | wondered | '
    || 'was <-> asking | wanted <-> to <-> know) | who <-> (wondered | wanted <-> to <-> know) | (my | the) <-> (question '
    || '| questions) <-> (about | on) | question <-> (of <-> mine | from <-> (me | us)) | ((did | has | have) <2> (ask | '
    || 'asked | raise | raised) | who <-> asked) <-> (about | whether | if | who | what | when | where | why | how) | '
    -- German
    || '(hab | habe | haben | hat | hatte | hatten) & (gefragt | nachgefragt | erkundigt) | (wollte | wollten) & wissen | '
    || 'was <-> wollte <-> ich & (dir | ihnen) | (frage | fragen) <-> von <-> (mir | uns) | (meine | unsere) <-> (frage | '
    || 'fragen) <-> (nach | wegen | zu | zum | zur) | '
    -- Spanish
    || 'te <-> (pregunté | pregunte) | (pregunté | pregunte) | (he | (había | habia)) <-> preguntado | (quería | queria | '
    || 'quise) <-> saber | (alguien | (quién | quien)) <-> (preguntó | pregunto | ha <-> preguntado)'
)::tsquery
$$;

-- asking_moment_words: matches a query that names a question only as the moment of something: "when I asked about the visa".
CREATE OR REPLACE FUNCTION recall_private.asking_moment_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('(when | after) <-> (i | we) <-> (asked | wondered | was) | (als | nachdem) <-> (ich | wir) | cuando <-> (te | yo | '
    || 'pregunté | pregunte)')::tsquery;

-- talker_words: matches a query that speaks of the one who asks or the one who is asked.
CREATE OR REPLACE FUNCTION recall_private.talker_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    'i | me | my | mine | we | us | our | ours | you | your | '  -- English
    || 'ich | mir | mich | mein | meine | meinen | meiner | wir | uns | unser | unsere | du | dir | dich | dein | deine | '
    || 'yo | me | mi | mis | nos | nuestro | nuestra | nosotros | te | tu | tus'  -- Spanish
)::tsquery;

-- person_words: matches a query about a person of whom was spoken.
CREATE OR REPLACE FUNCTION recall_private.person_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    'he | she | his | her | him | hers | they | them | their | '  -- English
    || 'er | seine | seinen | seiner | seinem | ihn | ihm | '  -- German
    || '(él | ella | ellos | ellas) | suyo | suya'  -- Spanish
)::tsquery;

-- asks_about_someone: whether a query asks for what is known of a person or thing that it names, and speaks of nobody who
-- talks. In German every noun looks like a name, so only pronouns tell.
CREATE OR REPLACE FUNCTION recall_private.asks_about_someone(p_query text, p_words tsvector) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT NOT p_words @@ recall_private.talker_words() AND (p_words @@ recall_private.person_words()
        OR p_words @@ 'what | which | who | whose | where | when | why | how | does | is | are | qué | quién | cuál | dónde'
           AND substr(p_query, 2) ~ '[^.?!:"] [[:upper:]][[:lower:]]+')
$$;
