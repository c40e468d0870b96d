-- What a message says: its speech act, found by rules for English, German and Spanish. An instruction and a preference
-- are directives: they apply to what is asked later, whatever it is about. The rules are queries over the words of the
-- text, which cost a hundredth of regular expressions of this size.

-- speech_acts: the speech acts that a memory can have.
CREATE OR REPLACE FUNCTION recall.speech_acts() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['statement', 'question', 'acknowledgement', 'instruction', 'preference'];

-- is_directive: whether this is the speech act of a directive. Inlined.
CREATE OR REPLACE FUNCTION recall.is_directive(p_act text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_act IN ('instruction', 'preference');

-- says_nothing: whether a message with this speech act is no evidence for an answer. Inlined.
CREATE OR REPLACE FUNCTION recall.says_nothing(p_act text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_act IN ('question', 'acknowledgement');

-- instruction_words: matches what tells an assistant how to act from now on.
CREATE OR REPLACE FUNCTION recall.instruction_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    -- English: "always ...", "from now on", "when I ask ...", "stop giving me ...", "keep it short".
    '(always | never) & (!(i | we | they | he | she | it | who | to | people | you | has | have | had | is | was '
    || '| are | were | should | would | will | ll) <-> (always | never) <-> (use | include | give | provide | '
    || 'mention | format | show | tell | call | ask | answer | reply | respond | write | add | explain | highlight '
    || '| start | keep | put | list | make | cite | check | suggest | recommend | assume | address | speak | '
    || 'convert | round | state | end | sign | translate | send | remind | confirm | quote | note | point | offer | '
    || 'bring | name)) | '
    || '(please | pls | plz) <-> (always | never | don <-> t <-> ever | do <-> not <-> ever | only | keep) | '
    || 'from <-> now <-> on | from <-> here <-> on | from <-> this <-> point <-> on | going <-> forward | '
    || 'henceforth | for <-> future <-> reference | as <-> a <-> rule <-> (please | always | never) | until <-> i '
    || '<-> say | unless <-> i <-> (say | ask | tell) | '
    || '(when | whenever | if | time) <-> i <-> (ask | complain | rant | vent | paste | message) | '
    || '(when | whenever) <-> i <-> (m | am) <-> (complaining | ranting | venting | upset | angry | down | '
    || 'stressed) | whenever <-> i <-> (say | write | send | tell | show | talk | mention | share | post | bring) | '
    || 'you & ((when | whenever | if) <-> you <-> (suggest | recommend | write | answer | explain | give | list | '
    || 'mention | draft | translate | reply | respond | name | quote | summarise | summarize | propose | plan)) | '
    || '(whatever | anything) <-> you <-> (write | send | give | suggest | recommend) | '
    || '(prefer | rather | sooner) <-> (you | if <-> you | it <-> if <-> you | that <-> you) | appreciate <-> it '
    || '<-> if <-> you | (want | need | like) <-> you <-> to <-> (always | never | stop | keep | remember) | don '
    || '<-> t <-> want <-> you <-> to | '
    || '(don | dont | not) & (!(i | we | they | you | to | people | he | she) <-> (don <-> t | dont | do <-> not) '
    || '<-> (give | send | call | ask | suggest | recommend | remind | lecture | apologise | apologize | repeat | '
    || 'explain | offer | sugarcoat | ever | use | bring | mention | start | add)) | (stop | quit) & ((stop | quit) '
    || '<-> (giving | sending | calling | telling | asking | suggesting | recommending | reminding | apologising | '
    || 'apologizing | repeating | explaining | offering | using | adding)) | no <-> more <-> (emojis | emoji | '
    || 'lists | bullets | lectures | advice | suggestions | questions | disclaimers) | '
    || '(keep | make | leave) <-> (it | them | things | answers | replies | stuff) <-> (short | brief | simple | '
    || 'concise | formal | informal | plain | shorter | light) | keep <-> (your | the) <-> (answers | replies | '
    || 'messages | responses | tone) | '
    || '(please | just | pls) <-> call <-> me <-> !(back | when | if | at | on | later) | address <-> me <-> (as | '
    || 'by) | you <-> (re | are) <-> (never | always | not) <-> to | you <-> must <-> (always | never | not) | '
    || '(make | be) <-> sure <-> (you | to | that) <-> (always | never) | remember <-> (to | that) <-> (always | '
    || 'never | i) | '
    || '(thing | step | question | item) <-> at <-> a <-> time | short <-> (answers | replies) <-> (please | pls | '
    || 'only) | (please | pls) <-> no <-> (emojis | emoji | lists | bullets | bullet | jargon | lectures | '
    || 'disclaimers) | '
    -- German
    || 'bitte <-> (immer | nie | niemals | stets | (künftig | kuenftig | kunftig) | (grundsätzlich | grundsaetzlich '
    || '| grundsatzlich) | nur | keine | nicht) | (immer | nie | niemals | stets | (künftig | kuenftig | kunftig) | '
    || '(grundsätzlich | grundsaetzlich | grundsatzlich)) <-> bitte | bitte <2> (immer | nie | niemals | stets | '
    || '(künftig | kuenftig | kunftig)) | bitte <3> (immer | nie | niemals | (künftig | kuenftig | kunftig)) | '
    || 'ab <-> (jetzt | sofort) | von <-> (nun | jetzt) <-> an | in <-> zukunft | (künftig | kuenftig | kunftig) | '
    || '(immer | nie | niemals | stets | nur | bitte) & ((antworte | schreib | schreibe | gib | nenn | nenne | '
    || 'verwende | benutz | benutze | zeig | zeige | (erklär | erklaer | erklar) | (erkläre | erklaere | erklare) | '
    || 'frag | frage | sag | rechne | runde | schlag | empfiehl) <-> (immer | nie | niemals | stets | nur) | '
    || '(antworte | schreib | schreibe | gib | nenn | nenne | zeig | zeige | (erklär | erklaer | erklar) | (erkläre '
    || '| erklaere | erklare) | frag | sag) <-> (mir | mich | uns | sie) <-> (immer | nie | niemals | stets | nur | '
    || 'bitte)) | '
    || 'wenn <-> ich <-> (dich | dir | sie | ihnen) | wenn <-> ich <-> (frage | jammere | schimpfe | nachfrage) | '
    || 'wenn <-> (du | sie) <-> mir | '
    || '(duz | duze | sieze | duzen | siezen) <-> (mich | sie <-> mich | wir) | ((möchte | mochte | moechte) | '
    || 'will) <-> (dass | (daß | dass) | nicht <-> dass) <-> (du | sie) | (lieber | gern | gerne) <-> (wenn | dass) '
    || '<-> (du | sie) | ((hör | hoer | hor) | (hören | hoeren | horen) <-> sie) <-> auf | keine <-> (langen | '
    || '(ausführlichen | ausfuehrlichen | ausfuhrlichen) | listen | (aufzählungen | aufzaehlungen | aufzahlungen) | '
    || 'emojis | (fremdwörter | fremdwoerter | fremdworter) | anglizismen | (ratschläge | ratschlaege | '
    || 'ratschlage)) | '
    -- Spanish
    || '(siempre | nunca | (jamás | jamas) | jamas) & ((siempre | nunca | (jamás | jamas) | jamas) <-> (me | uses | '
    || 'pongas | digas | des | incluyas | hables | olvides | recomiendes | sugieras | usa | pon | dame | dime | '
    || 'incluye | contesta | responde | escribe | menciona | explica)) | '
    || 'de <-> ahora <-> en <-> adelante | a <-> partir <-> de <-> ahora | desde <-> ahora | en <-> adelante | '
    || '(cuando | que) <-> (te | yo <-> te) <-> (pida | pregunte | diga | mande | escriba | muestre | hable | '
    || 'cuente | (enseñe | ensene)) | '
    || 'me & (no <-> me <-> (des | digas | mandes | hables | pongas | llames | trates | escribas | expliques | '
    || 'recomiendes | sugieras | preguntes | cuentes | corrijas | respondas | contestes | ofrezcas)) | '
    || '(quiero | prefiero | necesito | pido) & ((quiero | prefiero | necesito | pido) <-> que <-> (me | no | '
    || 'siempre | nunca | uses | seas | pongas | hables | respondas | contestes | incluyas)) | (tutéame | tuteame) '
    || '| tuteame | (llámame | llamame) | llamame | (trátame | tratame) | tratame'
)::tsquery;

-- preference_words: matches what tells of a like, a dislike, a habit or a constraint.
CREATE OR REPLACE FUNCTION recall.preference_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    -- English
    '(i | we) & ((i | we) <-> (prefer | love | hate | dislike | loathe | detest | adore | enjoy | avoid | '
    || 'despise | favour | favor | like)) | (i | we) & ((i | we) <-> (really | much | always | usually | generally '
    || '| never | strongly | still | also | absolutely | just | kinda | mostly | rather | only | normally | '
    || 'personally | definitely | honestly | ve <-> always) <-> (prefer | love | hate | dislike | loathe | detest | '
    || 'adore | enjoy | avoid | despise | favour | favor | eat | drink | fly | drive | smoke | wear | touch | '
    || 'travel | like | enjoy | use | buy | take | work | sleep | cook | shop)) | '
    || '(don | dont | doesn | not | won | longer) & ((don <-> t | dont | doesn <-> t | do <-> not | does <-> not | '
    || 'won <-> t | no <-> longer) <-> (eat | drink | fly | drive | smoke | wear | touch | travel | like | enjoy | '
    || 'eats | drinks) | (don <-> t | do <-> not | doesn <-> t) <-> really <-> (eat | drink | like | enjoy)) | '
    || '(can | cant | cannot | couldn) & ((can <-> t | cant | cannot | can <-> not | couldn <-> t) <-> (stand | '
    || 'bear | eat | drink | tolerate | abide | digest | stomach | have)) | '
    || 'allerg:* | intoleran:* | coeliac | celiac | vegetarian | vegan | pescatarian | diabetic | lactose | gluten '
    || '| halal | kosher | claustrophob:* | teetotal:* | arachnophob:* | '
    || '(afraid | scared | terrified | frightened) <-> of | my <-> (favourite | favorite | preferred) | my <-> go '
    || '<-> to | not <-> (a | much <-> of <-> a | really <-> a) <-> (fan | morning | big | people) | (big | huge) '
    || '<-> fan <-> of | d <-> (rather | sooner) <-> !(you | it | not <-> you) | '
    || 'makes <-> (me | him | her | us) <-> (sick | ill | nervous | anxious | queasy) | (choke | chokes) <-> on | '
    || '(gave | given | giving) <-> up <-> (smoking | drinking | sugar | meat | alcohol | coffee | caffeine | dairy '
    || '| bread | wine | beer) | (i | we) <-> work <-> best | (seasick | carsick | airsick) | (isn <-> t | not) <-> '
    || 'my <-> (thing | taste | style) | my <-> cup <-> of <-> tea | (trying | try) <-> to <-> (avoid | cut <-> '
    || 'down) | (i <-> m | i <-> am) <-> (on <-> a <-> (diet | low:* | tight | budget) | off <-> (sugar | meat | '
    || 'alcohol | coffee | dairy | beer | wine)) | '
    -- German
    || '(ich | wir) & ((ich | wir) <-> (hasse | hassen | liebe | lieben | bevorzuge | bevorzugen | meide | '
    || 'verabscheue | mag | (mögen | moegen | mogen))) | (mag | (mögen | moegen | mogen) | vertrage | (verträgt | '
    || 'vertraegt | vertragt) | vertragen | esse | isst | essen | trinke | trinkt | fahre | fliege) <-> (ich <-> '
    || '!(dich) | ich <-> nicht | keine | keinen | kein | nie | niemals | nicht | nur | lieber | ungern) | '
    || 'am <-> liebsten | lieblings:* | (unverträglich:* | unvertraeglich:* | unvertraglich:*) | laktose:* | '
    || 'glutenfrei:* | (zöliakie | zoeliakie | zoliakie) | vegetarisch:* | vegetarier:* | veganer:* | (angst | '
    || '(höhenangst | hoehenangst | hohenangst) | flugangst | platzangst) <-> (vor | habe | hat) | ((höhenangst | '
    || 'hoehenangst | hohenangst) | flugangst | platzangst) | wird <-> (mir | ihm | ihr) <-> (schlecht | (übel | '
    || 'ubel | uebel)) | nicht <-> (leiden | ausstehen) | '
    -- Spanish
    || '(me | nos | le | les) <-> (gusta | gustan | encanta | encantan | repugna | marea | chifla) | (da | dan) <-> '
    || '(asco | miedo | (pánico | panico)) | (cae | caen | sienta | sientan) <-> mal | '
    || 'odio | detesto | prefiero <-> !que | no <-> (soporto | aguanto | como | bebo | tomo | conduzco | fumo) | no '
    || '<-> (puedo | puede) <-> (comer | beber | tomar | volar) | (alérgic:* | alergic:*) | alergi:* | intolerancia '
    || '| (celíac:* | celiac:*) | celiac:* | vegetarian:* | vegan:* | mi <1> (favorito | favorita | preferido | '
    || 'preferida) | mi <2> (favorito | favorita | preferido | preferida)'
)::tsquery;

-- acknowledgement_pattern: matches a message of nothing but thanks, agreement, greetings and the like, in lower case.
CREATE OR REPLACE FUNCTION recall.acknowledgement_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:(?:hi there|hey there|good idea|good point|good question|thanks?|thank you|thx|ty|cheers|ta|ok|okay|k|kk|cool|great|perfect|nice|good|good one|got it|sure|yes|yeah|yep|yup|yea|no|nope'
    '|lol|haha\w*|ha|right|alright|all right|fine|awesome|brilliant|lovely|grand|sounds good|will do|understood|noted|done|exactly|true'
    '|i see|makes sense|fair enough|bye|good ?night|good morning|morning|hello|hi|hey|you.?re welcome|no problem|no worries|np|so much'
    '|very much|a lot|mate|man|then|that.?s it|that.?s all|for now|and|for that|for the help|wow|oh|ah|hm+|mhm|see you|later|please|tomorrow|too'
    '|danke\w*|gut|super|prima|alles klar|verstanden|ja|nein|genau|stimmt|klar|schön|dir|ihnen|sehr|bitte|gern\w*|tschüss|bis dann|bis morgen|guten morgen|hallo|gute nacht|na gut|passt|mach ich'
    '|gracias|muchas|vale|perfecto|genial|de acuerdo|entendido|sí|si|bueno|claro|hola|adiós|hasta luego|hasta mañana|buenas noches|buenos días|de nada|muy amable|merci|d.accord|grazie|obrigad[oa])\M\W*)+$';

-- question_pattern: matches a sentence that asks something, or asks for something now, from its beginning and in lower
-- case.
CREATE OR REPLACE FUNCTION recall.question_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:(?:and|so|but|ok|okay|hey|hi|hello|also|btw|um|well|then|yes|no|right|wait|please|pls|there|quick question|und|aber|also|sag mal|hallo|y|pero|oye|bueno|hola)[,:!.]? +)*'
    '(?:(?:who|what|whats|when|where|which|why|how|hows|whose|whom)\M|(?:is|are|am|was|were|do|does|did|can|could|would|will|should|shall'
    '|may|might|have|has|had|isn.?t|aren.?t|don.?t|doesn.?t|didn.?t|can.?t|won.?t) (?:i|you|we|they|he|she|it|there|this|that|the|my|your|our|his|her|any|anyone)\M'
    '|any (?:idea|ideas|tips|advice|suggestions|recommendations|thoughts|news|chance)\M|(?:can|could|would) you\M'
    '|(?:show|tell|give|help|find|remind) (?:me|us)\M|(?:find|explain|draft|suggest|recommend|list|summari[sz]e|describe|compare|translate|calculate|plan|look up|check|write|make) (?:me|a|an|the|some|all|my|this|that|how|what|why)\M'
    '|i(?:.m| am)? (?:wonder|wondering|was wondering|.d like to know|would like to know|need to know|curious)\M'
    '|(?:wer|was|wann|wo|wohin|woher|wie|warum|wieso|weshalb|welche\w*|wem|wen|wessen|womit|wozu)\M|(?:kannst|könntest|können|könnten|soll|sollte|sollen|ist|sind|hat|hast|haben|gibt|darf|muss|weißt|wissen|war|hatte|hattest|hatten) (?:du|sie|ich|wir|es|er|das|die|der|man|mein\w*)\M'
    '|(?:zeig|sag|gib|erklär|hilf|such|nenn)e?(?:n sie)? (?:mir|uns)\M'
    '|¿|(?:qué|quién\w*|cuándo|dónde|adónde|cómo|cuál\w*|por qué|cuánt\w+|a qué|de qué|en qué|con quién)\M|(?:puedes|podrías|puede|podría|sabes|sabe|hay|tienes|debo|debería) |(?:dime|dame|explícame|ayúdame|búscame|busca|muéstrame|recomiéndame) )';

-- clause_pattern: matches a sentence that begins as a question does and, without a question mark, asks nothing: "When we
-- were children she sold the boat.", "which I can't eat". In lower case.
CREATE OR REPLACE FUNCTION recall.clause_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:when|where|while|which|who|what|wann|wo|was|wer|wie|als|weil|cuando|donde|que|quien|como)\M'
    '(?!.{0,3}\m(?:s|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|re|ll)\M)[^,]*'
    '(?:,| (?:i|we|he|she|they|you|ich|wir|er|sie|du|yo) (?:can.?t|don.?t|do|did|never|always|am|was|were|had|have)\M)'
    '|^\W*(?:hatte|hat|war|ist|sind|gibt) (?:ich|er|sie|es|wir)\M[^?]*$';

-- lack_pattern: matches a sentence that says why one asks: "I forgot.", "I can't remember." In lower case.
CREATE OR REPLACE FUNCTION recall.lack_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:(?:sorry|but|and|aber|und|pero|y),? )?(?:(?:i|we)(?: just| really| always| keep)* (?:forgot|forget|forgetting|(?:can.?t|cannot|don.?t|do not) '
    '(?:remember|recall|know|find)|need (?:it|that|this|to know)|have no idea|lost it|am curious|.m curious)\M'
    '|(?:quick|just|small|one) (?:question|curious)|it.?s urgent|asap|no idea'
    '|ich hab(?:e|.s)?(?: es| das)? vergessen|ich wei(?:ß|ss) (?:es |das )?nicht|hab.?s vergessen|kurze frage|keine ahnung'
    '|(?:lo |la |se me )?(?:he )?(?:olvidé|olvide|olvidado|olvidó)\M|no (?:me acuerdo|lo sé|recuerdo)\M|una pregunta)';

-- no_answer_words: matches an answer that says that there is none.
CREATE OR REPLACE FUNCTION recall.no_answer_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    -- English
    '(don <-> t | dont | do <-> not) <-> (know | have <-> (that | any | this | access | information)) | no <-> '
    || 'idea | have <-> no <-> (record | information | note | memory) | (haven <-> t | have <-> not | never | didn '
    || '<-> t) <-> (told | tell | mention | mentioned | said | shared | share) <-> (me | that | it) | you <-> '
    || '(never | haven <-> t) <-> (mentioned | said) | '
    -- German
    || 'keine <-> ahnung | ((weiß | weiss) | weiss) <-> (ich <-> nicht | nicht | ich <-> leider <-> nicht) | habe '
    || '<-> ich <-> (keine | nichts | leider) | (nicht | nie) <-> (gesagt | (erzählt | erzaehlt | erzahlt) | '
    || '(erwähnt | erwaehnt | erwahnt)) | '
    -- Spanish
    || 'no <-> sé | no <-> lo <-> (sé | se) | ni <-> idea | no <-> tengo <-> ((información | informacion) | '
    || 'constancia | ese <-> dato | datos) | no <-> me <-> (has | ha | lo <-> has) <-> (dicho | contado | '
    || 'mencionado)'
)::tsquery;

-- own_words: a text without code, quotations and mail that it answers or forwards; of a long one, the beginning and the
-- end are read.
CREATE OR REPLACE FUNCTION recall.own_words(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_text text := p_text;
BEGIN
    IF p_text ~ '["\u201C\u201E\u2018\u00AB\u00BB\u2039\u203A\u300C\u300E`~<>#]|//|--|/\*|:\s*\n|(^|[\s(:])''|(^|\n)( {4}|\t)' THEN
        -- Blocks first: what they contain may look like the rest. A pattern with alternatives matches as much as it can,
        -- so that what ends as soon as it can has a pattern of its own.
        v_text := regexp_replace(v_text, '(```|~~~).*?(\1|$)', ' ', 'g');
        v_text := regexp_replace(v_text, '<(blockquote|pre|code)\M.*?(</\1>|$)', ' ', 'gi');
        v_text := regexp_replace(v_text, '/\*.*?(\*/|$)', ' ', 'g');
        v_text := regexp_replace(
            v_text, '(^|\n)(-{2,} ?(forwarded|original|weitergeleitete|ursprüngliche|mensaje)\M'
            '|[^\n]{0,200}\m(wrote|schrieb|escribió)\M[^\n]{0,80}:\s*\n).*$', ' ', 'i');
        v_text := regexp_replace(
            v_text, '(^|\n)([ \t]*(>|//|#|--)|( {4}|\t)|[^\n]*[=;{}][^\n]*(//|#|--))[^\n]*', ' ', 'g');
        v_text := regexp_replace(
            v_text, '`[^`\n]*`|"[^"]{1,255}"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|‹[^›]*›|›[^‹]*‹|「[^」]*」|『[^』]*』|‘[^\n]*’'
            '|(?<![[:alnum:]])''[^''\n]+(''[[:alnum:]][^''\n]*)*''(?![[:alnum:]])', ' ', 'g');
    END IF;
    RETURN CASE WHEN length(v_text) > 1500 THEN left(v_text, 1000) || E'\n' || right(v_text, 500) ELSE v_text END;
END $$;

-- is_only_question: whether a message does nothing but ask: each of its sentences asks something or only leads up to that.
-- A long message tells something too.
CREATE OR REPLACE FUNCTION recall.is_only_question(p_text text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_sentence text;
    v_asks boolean := false;
BEGIN
    IF length(p_text) > 300 OR NOT (p_text ~ '[?¿？]' OR lower(p_text) ~ recall.question_pattern()) THEN
        RETURN false;
    END IF;
    FOREACH v_sentence IN ARRAY regexp_split_to_array(p_text, '(?<=[.!?？。])\s+|\n+') LOOP
        CONTINUE WHEN v_sentence !~ '\w' OR lower(v_sentence) ~ recall.acknowledgement_pattern()
            OR length(v_sentence) <= 80 AND v_sentence !~ '[?？]\W*$' AND lower(v_sentence) ~ recall.lack_pattern()
            -- One word, as an answer before a question; any more of them tell something.
            OR v_sentence !~ '[?？]\W*$' AND v_sentence ~ '^\W*\w+\W*$';
        -- "I have a meeting on Friday, can you remind me?" tells something.
        IF length(v_sentence) <= 200 AND lower(v_sentence) ~ recall.question_pattern()
               AND (v_sentence ~ '[?？]\W*$' OR lower(v_sentence) !~ recall.clause_pattern())
           OR length(v_sentence) <= 80 AND v_sentence ~ '[?？]\W*$'
              AND lower(v_sentence) !~ '^\W*(?:i|we|my|our|ich|wir|meine?|unsere?|yo|nosotros|mi)\M' THEN
            v_asks := true;
        ELSE
            RETURN false;
        END IF;
    END LOOP;
    RETURN v_asks;
END $$;

-- found_speech_act: the speech act of a memory, by its text and the role of who said it. Only what a user said is a
-- directive, since anybody can write a document that looks like one. A memory with a title is a note, whatever role it
-- claims: it states something.
CREATE OR REPLACE FUNCTION recall.found_speech_act(p_title text, p_body text, p_role text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_own tsvector;
BEGIN
    IF p_title <> '' THEN
        RETURN 'statement';
    ELSIF p_role = 'user' THEN
        v_own := to_tsvector('pg_catalog.simple', recall.own_words(p_body));
        -- "Could you always ...?" wants something; "Do you always ...?" asks whether it is so.
        IF v_own @@ recall.instruction_words() AND NOT (
               lower(p_body) ~ '^\W*(?:do|does|did|is|are|was|were|have|has|had|who|what|when|where|why|how|which|machst|hast|bist|ist|sind|warum|haces|has|es|por qué)\M'
               AND recall.is_only_question(p_body)) THEN
            RETURN 'instruction';
        ELSIF v_own @@ recall.preference_words() THEN
            RETURN 'preference';
        END IF;
    END IF;
    IF length(p_body) > 300 THEN
        RETURN 'statement';
    ELSIF length(p_body) <= 80 AND lower(p_body) ~ recall.acknowledgement_pattern()
          OR length(p_body) <= 160 AND to_tsvector('pg_catalog.simple', left(p_body, 50)) @@ recall.no_answer_words() THEN
        RETURN 'acknowledgement';
    ELSIF recall.is_only_question(p_body) THEN
        RETURN 'question';
    END IF;
    RETURN 'statement';
END $$;

-- find_speech_act: trigger that finds out the speech act of a memory that nobody marked, when it is stored and when its
-- text or role changes.
CREATE OR REPLACE FUNCTION recall.find_speech_act() RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    NEW.speech_act := recall.found_speech_act(NEW.title, NEW.body, NEW.role);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER memory_act_inserted BEFORE INSERT ON recall.memory
FOR EACH ROW WHEN (NEW.speech_act IS NULL) EXECUTE FUNCTION recall.find_speech_act();

CREATE OR REPLACE TRIGGER memory_act_updated BEFORE UPDATE OF title, body, role, speech_act ON recall.memory
FOR EACH ROW WHEN (NEW.speech_act IS NULL OR NOT NEW.act_marked AND (
    OLD.title, OLD.body, OLD.role) IS DISTINCT FROM (NEW.title, NEW.body, NEW.role))
EXECUTE FUNCTION recall.find_speech_act();
