-- What a query wants, found by rules for English, German and Spanish: to be told what was said or known, or to have
-- something done; and whether it makes sense only with its conversation.
--
-- Long texts are in bodies that are strings: Postgres stores the constants of RETURN byte by byte, and each connection would
-- need milliseconds to read them.

-- recall_words: matches a query about what happened or was said.
CREATE OR REPLACE FUNCTION recall_private.recall_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(did | have | had | has | was | were) <-> (i | we | my | he | she | they | you) | how <-> (many | much | '
    || 'long | old | often) | when <-> (is | was | did | does | are | were) | who <-> (is | was | did | were) | (i '
    || '| we) <-> (said | mentioned | told | asked | worked | used | completed | made | did | was | were | had | '
    || 'bought | met | planned | decided | chose | spent | got | went | took | ve | have | am | m) | what <-> (is | '
    || 'was | were | are) <-> (my | our | the) | which <-> (day | date | month | year) | (our | my) <-> '
    || '(conversation | conversations | chats | sessions | discussions) | remind <-> me | '
    -- German
    || '(hab | habe | hatte | hatten | haben | war | waren | bin | hast | hattest) <-> (ich | wir | du | sie) | wie <-> '
    || '(viel | viele | lange | hoch | (heißt | heisst) | (hieß | hiess) | alt | oft) | wann <-> (ist | war | hat | '
    || 'hatte | sind) | wer <-> (ist | war | hat) | (wie | was) <-> (war | waren | ist) <-> (mein | meine | der | '
    || 'die | das) | '
    -- Spanish
    || '(cuánto | cuanto) | (cuánta | cuanta) | (cuántos | cuantos) | (cuántas | cuantas) | (cuándo | cuando) <-> '
    || '(es | fue | era | tengo) | (quién | quien) <-> (es | fue | era) | (cómo | como) <-> se <-> (llama | '
    || 'llamaba) | (qué | que) <-> (dije | dijiste | (compré | compre) | (decidí | decidi)) | (he | (había | '
    || 'habia)) <-> (dicho | contado | comprado | decidido)'
)::tsquery
$$;

-- request_words: matches a query that wants something done, or advice.
CREATE OR REPLACE FUNCTION recall_private.request_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(should | can | could | shall) <-> (i | we) | (do | would | could | can | will) <-> you | suggest | recommend | '
    || '(help | show | explain | give | find) <-> (me | us) | walk <-> (me | us) | explain | (i | we) <-> (m | am | re | '
    || 'are) <-> (planning | thinking | looking | working | trying | about | going) | (i | we) <-> (want | need) | d <-> '
    || 'like | what <-> are <-> some | any <-> (ideas | tips | advice | suggestions) | how <-> (do | would | can | might | '
    || 'should) <-> (i | we) | (tips | options | ideas) | (some | any | a) <-> good | best <-> (way | ways | option | '
    || 'options | practice | practices) | (draft | write | plan | book | design | build | create | make | prepare | find | '
    || 'pick | choose | send | order | turn | translate | fix | compare | sort | schedule | arrange | reserve | summarise '
    || '| summarize | rewrite | update) <-> (a | an | me | my | the | this | these | some | something | us | our) | would '
    || '<-> (be | go | make | suit | work) | tell <-> me <-> how | (write | text | email) <-> to | (note | msg | message) '
    || '<-> (to | for) | (do | shall | should | will) <-> i <-> (put | bring | wear | cook | serve | reply | order | book '
    || '| pack) | worth <-> (my | the | a | paying | going | seeing | buying) | (good | nice) <-> idea <-> !(of) | '
    -- German
    || '(soll | sollte | sollen | kann | (könnte | koennte | konnte)) <-> (ich | wir) | (kannst | (könntest | koenntest | '
    || 'konntest)) <-> du | ((können | koennen | konnen) | (könnten | koennten | konnten)) <-> sie | (schreib | empfiehl | '
    || 'plane <-> (mir | uns | ein | eine | einen) | such | zeig | hilf | (erklär | erklaer | erklar) | mach) | (schreiben '
    || '| empfehlen | planen | zeigen | helfen) <-> sie | was <-> (koche | mache | schenke | nehme | ziehe | bestelle) <-> '
    || '(ich | wir) | (was | wie | wo | wohin | womit) <2> (ich | wir) & !((hab | habe | haben | war | waren | hatte | '
    || 'hatten | bin | sind | wollte | sagte) <-> (ich | wir)) | (buch | buche | schick | schicke | finde | mache | '
    || 'schreibe | formulier | formuliere | übersetz | übersetze | erstell | erstelle | entwirf | bestell | bestelle | '
    || 'reservier | reserviere | organisier | organisiere) <-> !ich | (ich | wir) <-> (will | (möchte | mochte | moechte) '
    || '| brauche | wollen | (möchten | mochten | moechten) | brauchen | plane | suche) | (text | nachricht | mail) <-> an '
    || '| was <-> (bring | bringe | nehm | zieh | koch | schenk | back | backe) <-> (ich | wir) | (geht | passt) <-> das '
    || '<-> so | (stell | krieg | bekomm) <-> ich | '
    -- Spanish
    || '(puedes | (podrías | podrias) | puede | (podría | podria)) | ((recomiéndame | recomiendame) | (escríbeme | '
    || 'escribeme) | (ayúdame | ayudame) | (búscame | buscame) | dame | hazme | (explícame | explicame)) | (qué | que) <-> '
    || '(hago | puedo | me <-> pongo | podemos | regalo | cocino | llevo) | (quiero | necesito | busco) | ((dónde | donde) '
    || '| (cómo | como)) <-> (puedo | podemos) | (escríbele | escribele) | (contéstale | contestale) | (haz | busca | '
    || 'manda | propón | redacta | reserva | prepara | organiza | resume | traduce | corrige | sugiere | recomienda | '
    || 'elige | ponle) <-> !(no) | resérvame | qué <-> le <-> (pongo | digo | compro | llevo | regalo) | (mándale | '
    || 'mandale) | (prepárame | preparame) | (ponme | dile) | (qué | que) <2> (pongo | pido | llevo | cocino | regalo) | '
    || '(qué | que) <-> (pongo | pido) | (qué | que) <-> opinas'
)::tsquery
$$;

-- directive_query_words: matches a query about directives themselves: "what rules have I given you?", "what can't we eat?".
CREATE OR REPLACE FUNCTION recall_private.directive_query_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(rules | conditions | instructions | preferences) & ((i | we) <-> (ve | have | gave | set | told | made) | (did | '
    || 'have) <-> (i | we) <-> (give | given | set | tell | told | make | made) | (are | were) <-> my) | '
    || '(what | which | who) & ((can <-> t | cant | cannot | mustn <-> t | must <-> not | shouldn <-> t | should <-> not '
    || '| don <-> t | dont | doesn <-> t) <-> (eat | drink | like | stand | tolerate) | (can <-> t | cant | cannot | '
    || 'mustn <-> t | must <-> not | don <-> t | dont) <2> (eat | drink | like | stand | tolerate)) | '
    -- German
    || '(regeln | bedingungen | vorgaben) & (ich <2> (gegeben | gesetzt | gesagt) | ich <3> (gegeben | gesetzt | gesagt)) '
    || '| (was | wer) & (nicht | nichts | kein | keine | keinen) & (vertrage | vertraegt | vertragt | darf <-> (ich | er | '
    || 'sie) <-> nicht | (esse | isst | mag | trinke | trinkt) <-> (ich | er | sie | nicht | nichts | kein | keine)) | '
    -- Spanish
    || '(normas | reglas | condiciones) & te <-> (he | di | puse | (había | habia)) | (qué | que | (quién | quien)) <-> no '
    || '<-> (puedo | puede | podemos | como | come | comemos | bebo | bebe | aguanto | soporto | tolero)'
)::tsquery
$$;

-- advice_words: matches a query that wants advice or help whatever it tells of before it.
CREATE OR REPLACE FUNCTION recall_private.advice_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(would | can | could | do | will) <-> you <-> (suggest | recommend | advise | help | show | explain | give | '
    || 'think | walk | plan | draft | write | find | propose) | (should | shall) <-> (i | we) | i <-> should | help '
    || '<-> me <-> (plan | write | choose | find | decide | set | with | organize | understand) | (i | we) <-> (m | '
    || 'am | re | are) <-> (planning | thinking | looking | trying | about <-> to | going <-> to) | '
    -- German
    || '(kannst | (könntest | koenntest | konntest)) <-> du <-> (mir | uns) | (können | koennen | konnen | '
    || 'könnten | koennten | konnten) <-> sie <-> (mir | uns) | was <-> (schlägst | schlaegst | schlagst | '
    || 'empfiehlst | (würdest | wuerdest | wurdest)) <-> du | (soll | sollte | sollen | sollten) <-> (ich | wir) | '
    -- Spanish
    || '(puedes | (podrías | podrias) | puede | (podría | podria)) <-> (ayudarme | recomendarme | sugerirme | '
    || 'explicarme | darme | decirme) | me <-> (recomiendas | sugieres | aconsejas | ayudas) | (debería | deberia) '
    || '| deberíamos'
)::tsquery
$$;

-- past_words: matches a query about how something was before.
CREATE OR REPLACE FUNCTION recall_private.past_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    'before | originally | original | previously | previous | earlier | formerly | former | initially | initial '
    || '| used <-> to | at <-> first | at <-> the <-> (time | beginning) | old | first | back <-> then | history | '
    || 'changed | change | changes | evolve | evolved | '
    -- German
    || 'vorher | (früher | frueher | fruher) | (ursprünglich | urspruenglich | ursprunglich) | zuvor | anfangs | '
    || 'damals | alte | alten | erste | ersten | zuerst | bisher | (geändert | geaendert | geandert) | '
    -- Spanish
    || 'antes | originalmente | anterior | anteriormente | primero | primera | inicial | inicialmente | antiguo | '
    || 'antigua | entonces | (cambió | cambio) | cambiado'
)::tsquery
$$;

-- past_tense_pattern: matches a query in the past tense, which asks how something was. What was said may still hold: "when
-- did I say that we move?". In lower case.
CREATE OR REPLACE FUNCTION recall_private.past_tense_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '\m(?:was|were|had|has|have|[[:alpha:]]{3,}ed|hatten?|war|waren|habe|hat|fue|era)\M|\mdid\M(?! (?:i|we) (?:say|tell)\M)'
    '|\m(?:he|ha|han|hemos) [[:alpha:]]+do\M';

-- reference_words: matches a query that refers to what was said just before it.
CREATE OR REPLACE FUNCTION recall_private.reference_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    '(did | does | do | is | was | has | would | will | can | could | should) <-> (that | this | it | those | these | '
    || 'they) | and <-> (the | that | this | what <-> about) | what <-> about | how <-> about | the <-> other <-> (one | '
    || 'ones | two) | the <-> (first | second | third | last | next | middle | latter | former) <-> (one | option | idea | '
    || 'thing | point | step) | that <-> one | this <-> one | why <-> (not | that | is <-> that) | like <-> that | of <-> '
    || '(those | these | them) | same <-> (thing | again | one | for) | another <-> (one | example) | (about | with | for '
    || '| without) <-> (it | that | this | him | her | them) | '
    -- German
    || '(hat | ist | war | wird | kann | soll) <-> (das | es | dies) | und <-> (die | der | das | was) <-> (andere | '
    || 'anderen | anderer | zweite | erste | ist) | (der | die | das) <-> (andere | zweite | erste | letzte | dritte) | '
    || '(warum | wieso) <-> (nicht | das) | (damit | (darüber | daruber | darueber) | davon | (dafür | dafuer | dafur) | '
    || 'dazu | daran) | '
    -- Spanish
    || '((funcionó | funciono) | (sirvió | sirvio) | (resultó | resulto)) | y <-> (el | la | los | las | lo) <-> (otro | '
    || 'otra | otros | otras | segundo | segunda) | (el | la | lo) <-> (otro | otra | primero | primera | segundo | '
    || 'segunda | (último | ultimo) | (última | ultima)) | (eso | esto | ese | esa | aquello) | (por <-> (qué | que) <-> '
    || 'no | y <-> eso)'
)::tsquery
$$;

-- number_words: matches a query that asks for a number.
CREATE OR REPLACE FUNCTION recall_private.number_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    'how <-> (much | many | old | tall | far | heavy | high | big | large) | what <-> (did | does | do | will | is | '
    || 'was | are | were | s) & (cost | costs | price | salary | rent | fee | dose | dosage | fare | mileage | percentage '
    || '| paid) | what <-> (price | salary | rent | fee | dose | dosage | percentage | size | age | year | score | amount) '
    || '| '
    -- German
    || 'wie <-> (viel | viele | alt | hoch | (groß | gross) | weit | schwer | teuer) | was <-> (kostet | kosten | verdient '
    || '| verdiene) | was <-> (hat | haben) & (gekostet | verdient) | '
    -- Spanish
    || '(cuánto | cuánta | cuántos | cuántas | cuantos | cuantas) | (qué | que) <-> (edad | precio)'
)::tsquery
$$;

-- holds_number: whether a text holds a number, in digits or, near its beginning, in words.
CREATE OR REPLACE FUNCTION recall_private.holds_number(p_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(p_text, 10000) ~ '\d' OR lower(left(p_text, 2000)) ~ (
    '\m(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|million|half|dozen|once|twice'
    '|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|hundert|tausend|hälfte'
    '|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|veinte|treinta|cien|ciento|mil|mitad)\M');

-- common_words: the words that do not say what a text is about: pronouns, auxiliary verbs, and what any conversation has.
CREATE OR REPLACE FUNCTION recall_private.common_words() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_to_array(
    'a aber about acerca after again ahora al algo all alle alles already als also am an and andere anderen '
    || 'antes any anything are as asi así at auch auf aun aus aún back be because been before bei being better '
    || 'bien bin bis bitte but by can como con cosa could cual cuando cuál cuándo cómo d da dabei dafur dafür '
    || 'damit dann daran daruber darüber das dass davon dazu de del dem den denn der des despues después did didn '
    || 'die dies diese dieser dijiste dir do doch does doesn doing don done dritte du ein eine einen el ella ellos '
    || 'else en end entonces er era eran erste es esa ese eso esta este esto está etwas ever first for from fue '
    || 'funciono funcionó fur für gab geht geklappt gemacht genau gesagt get gibt go going good got guess gut ha '
    || 'hab habe haben habia había hace hacer haces had hago has hasta hat hatte hatten have hay he help helped '
    || 'her here hice him his hmm how i ich if ihn ihr im in into is isn ist it its ja jetzt just kann klappt '
    || 'konnen können la las last latter le let letzte like ll lo long los m mach machen make mal man mas me mehr '
    || 'mein meine mejor mi mia mich middle mine mir mis misma mismo mit more much mucho muy my más mía nach nada '
    || 'need nein never next nicht nichts no noch nope nos not now nun nur o ob oder of off ok okay on one ones '
    || 'only option or other others otra otras otro otros our out over para part pero please pls point por porque '
    || 'previous primera primero puede puedes pues que quien quién qué re really resulto resultó right s sache '
    || 'sagen said same say se second segunda segundo sein ser shall she should show si sich sie sigue sin sind '
    || 'sirvio sirvió so sobre soll sollte some something son sonst soon spater später step still su sure sus sí t '
    || 'tambien también te tell tengo than thanks that the their them then there these they thing things think '
    || 'third this those though three tiene time to todo told too tried try tu tun two tú ultima ultimo un una und '
    || 'uno uns up us use vale ve very vez vom von vor wann war waren warum was wasn we weiter welche well wenn '
    || 'went wer were what when where whether which while who why wie wieder wieso will wird wirklich with wo won '
    || 'work worked working works would wouldn wurde würde y ya yeah yes yet yo you your zu zum zur zweite él '
    || 'última último cuanta cuanto cuánta cuánto dijo eben para welchen welcher welches example examples far redo '
    || 'reply replied they arrived shorter longer erzähl erzähle beispiel weit sicher kürzer länger cuéntame lejos '
    || 'cerca seguro segura llegado llegó ejemplo respondió respondieron corto está están estás', ' ')
$$;

-- has_topic: whether these words contain one that says what a text is about.
CREATE OR REPLACE FUNCTION recall_private.has_topic(p_words tsvector) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT NOT tsvector_to_array(p_words) <@ recall_private.common_words()
$$;

-- query_intent: what a query wants. `seeks` is `recall` for what happened or was said, `request` for something to be done
-- and for advice, else NULL; `speaker` is the role whose words it asks for; `about_questions` whether it asks for
-- questions that were asked, `about_past` for how something was before, `asks_number` for a number; `in_past` whether it is in
-- the past tense. `needs_context` is whether it has no word of its own that says what it is about, so that only its
-- conversation does.
CREATE OR REPLACE FUNCTION recall_private.query_intent(p_query text) RETURNS recall.query_intent
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_words tsvector := to_tsvector('pg_catalog.simple', left(p_query, 1000));
    v_requests boolean;
    v_recalls boolean;
    v_intent recall.query_intent;
BEGIN
    v_intent.about_questions := v_words @@ recall_private.asked_words() AND NOT (
        v_words @@ recall_private.asking_moment_words() AND v_words @@ recall_private.assistant_words());
    v_intent.speaker := CASE
        WHEN v_intent.about_questions THEN NULL
        WHEN v_words @@ recall_private.assistant_words() THEN 'assistant'
        WHEN v_words @@ recall_private.user_words() THEN 'user' END;
    v_intent.about_past := v_words @@ recall_private.past_words();
    v_intent.in_past := lower(left(p_query, 1000)) ~ recall_private.past_tense_pattern();
    IF v_words @@ recall_private.directive_query_words() THEN
        v_intent.seeks := 'request';
    ELSIF v_intent.about_questions OR v_intent.speaker IS NOT NULL OR v_words @@ recall_private.did_words() THEN
        v_intent.seeks := 'recall';
    ELSE
        v_requests := v_words @@ recall_private.request_words();
        v_recalls := v_words @@ recall_private.recall_words();
        v_intent.seeks := CASE
            WHEN v_words @@ recall_private.advice_words() OR v_requests > v_recalls THEN 'request'
            WHEN v_recalls > v_requests OR recall_private.asks_about_someone(p_query, v_words) THEN 'recall' END;
    END IF;
    v_intent.asks_number := v_words @@ recall_private.number_words();
    v_intent.needs_context := length(p_query) <= 120 AND v_words @@ recall_private.reference_words()
        AND NOT recall_private.has_topic(v_words);
    RETURN v_intent;
END $$;
