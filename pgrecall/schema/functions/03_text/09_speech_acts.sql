-- What a message says: its speech act, found by rules: for English, German and Spanish, and for directives in a few
-- words of four more languages. An instruction and a preference are directives: they apply to what is asked later, whatever
-- it is about. A change is a statement that something is no longer as it was said: in a search, it goes before the statement
-- that it changes (see newer_statements).

-- speech_acts: the speech acts that a memory can have.
CREATE OR REPLACE FUNCTION recall_private.speech_acts() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['statement', 'question', 'acknowledgement', 'instruction', 'preference', 'change'];

-- is_directive: whether this is the speech act of a directive. Inlined.
CREATE OR REPLACE FUNCTION recall_private.is_directive(p_act text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_act IN ('instruction', 'preference');

-- says_nothing: whether a message with this speech act is no evidence for an answer. Inlined.
CREATE OR REPLACE FUNCTION recall_private.says_nothing(p_act text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_act IN ('question', 'acknowledgement');

-- acknowledgement_pattern: matches a message of nothing but thanks, agreement, greetings and the like, in lower case. It
-- names marks and emoji, since \W matches every letter beyond ASCII where the locale is C.
CREATE OR REPLACE FUNCTION recall_private.acknowledgement_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(
    '^[MARKS]+$|^[?MARKS]*(?:(?:hi there|hey there|good idea|good point|good question|thanks?|thank you|thx|ty|cheers|ta|ok|okay|k|kk|cool|great|perfect|nice|good|good one|got it'
    '|sure|yes|yeah|yep|yup|yea|no|nope'
    '|lol|haha\w*|ha|right|alright|all right|fine|awesome|brilliant|lovely|grand|sounds good|will do|understood|noted|done|exactly|true'
    '|i see|makes sense|fair enough|bye|good ?night|good morning|morning|hello|hi|hey|you.?re welcome|no problem|no worries|np|so much'
    '|very much|a lot|mate|man|then|that.?s it|that.?s all|for now|and|for that|for the help|wow|oh|ah|hm+|mhm|see you|later|please|tomorrow|too'
    '|so|really|very|totally|(?:(?:this|that|it)(?:.?s| is)|you(?:.?re| are)|how|what) (?:the best|an? (?:star|lifesaver|great idea|relief)|amazing|great|good|cool|nice|perfect'
    '|lovely|awesome|fine|true|right|clear|helpful|interesting|kind|sweet|funny)'
    '|(?:sounds|looks) (?:good|great|fine|perfect)(?: to me)?|(?:this|that|it) (?:works|helps|helped)(?: for me)?|works for me|(?:nice|good) (?:one|call|job|work|evening|day)'
    '|(?:exactly|just)? ?what i (?:needed|wanted)|talk (?:later|soon|tomorrow)|you too|good to know|my bad|sorry|never ?mind|night|omg|(?:fine|ok|okay|good) (?:by|with) me'
    '|will try|phew|i didn.?t know that|didn.?t know that|(?:that|you) saved my (?:day|life|week|weekend|evening|morning|night|bacon|neck|skin|job|trip|dinner)'
    '|(?:that|this) (?:clears it up|explains it)|okie dokie|great stuff|aw+|so kind|all good|amazing|fantastic|wonderful|interesting'
    '|(?:thanks?|thank you|thx|ty|cheers|hi|hello|hey|morning|night|bye)(?:,? (?:so much|very much|a (?:lot|bunch|ton|million)|again|all|everyone|guys))+|for (?:everything|\w+ing|(?:(?:all|the|your|that|quick|detailed|good|great) )*(?:help|tips?|advice|info|explanation|answer|reply|reminder|update|heads.?up|support|effort|time))(?: again)?'
    '|danke\w*|gut|super|prima|alles klar|verstanden|ja|nein|genau|stimmt|klar|schön|dir|ihnen|sehr|bitte|gern\w*|tschüss|bis dann|bis morgen|guten (?:morgen|tag|abend)|hallo'
    '|gute nacht|na (?:gut|schön|klar)|passt|mach ich'
    '|(?:das )?(?:klingt|hört sich|sieht) (?:gut|super|toll|prima)(?: an| aus)?|(?:das )?(?:macht sinn|ergibt sinn|hilft mir|passt so|reicht mir)|kein (?:problem|ding|stress)'
    '|keine ursache|(?:gute|tolle|super) idee|guter (?:punkt|tipp)|(?:du bist|sie sind) (?:der|die) beste\w*|wird gemacht|geht klar|in ordnung'
    '|(?:genau )?das (?:hab|habe|hatte) ich (?:gebraucht|gesucht)|jep|jo|jup|joa|(?:oh )?wie (?:schön|toll|lieb|nett)|gut zu wissen|(?:hab|habe) ich verstanden|so|oh|na dann|genau'
    '|ach so|ah so|aha|verstehe|nee|moin\w*|zusammen|allerseits|bis (?:später|bald|gleich|morgen|dann|nachher)|dann|vielmals|(?:vielen|herzlichen|besten|tausend) dank|echt|klasse'
    '|toll|spitze|top|perfekt|wunderbar|großartig|freut mich|schönen (?:tag|abend)|auf jeden fall'
    '|für (?:alles|(?:die|den|das|deine?n?|ihre?n?) (?:(?:schnelle?n?|gute?n?) )?(?:hilfe|erklärung|tipps?|rat|infos?|antwort|mühe|hinweis|erinnerung))'
    '|gracias|muchas|vale|perfecto|genial|de acuerdo|entendido|sí|si|bueno|claro|hola|adiós|hasta luego|hasta mañana|buen[ao]s (?:noches|días|tardes)|de nada|muy (?:amable|bien)'
    '|(?:me )?(?:suena|parece) (?:bien|genial|perfecto)|(?:tiene|tienes) (?:sentido|razón)|buena idea|buen (?:punto|consejo)|no (?:pasa nada|hay problema|te preocupes)'
    '|(?:ya )?lo (?:pillo|entiendo|veo|tengo)|así lo (?:hago|haré)|justo lo que (?:necesitaba|buscaba|quería)|eres (?:un|una|el|la) (?:sol|cielo|crack|máquina|mejor|geni[oa]|ángel|amor|encanto|sant[oa]|artista|fenómeno)|qué (?:bueno|bien|guay|pasada|gracia|risa'
    '|maravilla|chulo|genial|alegría|lindo)'
    '|much[ií]simas|(?:bueno|es bueno) saberlo|eso es|nada|gracias mil|mil gracias|ya|ah|uf|pues|(?:ja){2,}\w*|menos mal|me vale|por favor|madre mía|igualmente|venga|hecho|listo|exacto|estupendo'
    '|fenomenal|buenísimo|de verdad|tod[oa]s?|a tod[oa]s|hasta (?:pronto|la próxima|entonces)|por (?:todo|explic\w+|(?:la|tu|el|los|tus) (?:ayuda|consejos?|explicación|información'
    '|respuesta|aviso|tiempo))|merci|beaucoup|oui|je vois|d.accord|mdr|grazie|mille|va bene|ecco|capito|obrigad[oa]|tá bom|k{3,}|dank je|wel|bedankt|oké)\M[?MARKS]*)+$',
    'MARKS', '\s!-/:->@\u005B-\u0060{-~¡«´·»¿\u2000-\u206F\u20AC\u20E3\u2190-\u2BFF\u3000-\u3003\u3008-\u301F\uFE0F\U0001F000-\U0001FAFF');

-- question_pattern: matches a sentence that asks something, or asks for something now, from its beginning and in lower
-- case.
CREATE OR REPLACE FUNCTION recall_private.question_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:(?:and|so|but|ok|okay|hey|hi|hello|also|btw|um|well|then|yes|no|right|wait|please|pls|there|(?:a |just a )?quick (?:one|question)|by the way|i forgot|i forget|und|aber|also|sag mal|hallo|y|pero|oye|bueno|hola|perdona|ich hab.?s vergessen|no me acuerdo|keine ahnung)[,:!.]? +)*'
    '(?:(?:who|what|when|where|how)[’'']?s?\M|(?:which|why|whose|whom)\M|(?:do )?(?:you|u|ya) know (?:if|who|what|when|where|which|why|how)\M|(?:is|are|am|was|were|do|does|did|can|could|would|will|should|shall'
    '|may|might|have|has|had|isn.?t|aren.?t|don.?t|doesn.?t|didn.?t|can.?t|won.?t) (?:i|you|we|they|he|she|it|there|this|that|the|my|your|our|his|her|any|anyone)\M'
    '|any (?:idea|ideas|tips|advice|suggestions|recommendations|thoughts|news|chance)\M|(?:can|could|would) you\M'
    '|(?:show|tell|give|help|find|remind) (?:me|us)\M|(?:find|explain|draft|suggest|recommend|list|summari[sz]e|describe|compare|translate|calculate|plan|look up|check|write|make) (?:me|a|an|the|some|all|my|this|that|how|what|why)\M'
    '|i(?:.m| am)? (?:wonder|wondering|was wondering|[’'']?d (?:like|love) to know|would (?:like|love) to know|need to know|curious)\M'
    '|(?:wer|was|wann|wo|wohin|woher|wie|warum|wieso|weshalb|welche\w*|wem|wen|wessen|womit|wozu)\M|(?:kannst|könntest|können|könnten|soll|sollte|sollen|ist|sind|hat|hast|haben|gibt|darf|muss|weißt|wissen|war|hatte|hattest|hatten) (?:du|sie|ich|wir|es|er|das|die|der|man|mein\w*)\M'
    '|(?:haben?|hab) (?:ich|wir) (?:den|die|das|dem|dir|dich|noch|(?:m?ein|unser)\w*)\M|wollten? (?:ich|wir)\M|(?:mich würde interessieren|ich wüsste gern\w*)\M|ich frage? mich,? (?:ob|w\w+)\M|ob [^,]+$|(?:zeig|sag|gib|erklär|hilf|such|nenn)e?(?:n sie)? (?:mir|uns)\M'
    '|¿|me (?:puedes|podrías|gustaría saber|pregunto)\M|(?:qué|quién\w*|cuándo|dónde|adónde|cómo|cuál\w*|por qué|cuánt\w+|a qué|de qué|en qué|con quién)\M|(?:puedes|podrías|sabes|tienes|debo|debería) |(?:puede|podría) \w+(?:me|nos)\M|hay (?:alg\w+|otr[oa]s?|más)\M|(?:dime|dame|explícame|ayúdame|búscame|busca|muéstrame|recomiéndame) )';

-- clause_pattern: matches a sentence that begins as a question does and, without a question mark, asks nothing: "When we
-- were children she sold the boat.", "which I can't eat". In lower case.
CREATE OR REPLACE FUNCTION recall_private.clause_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:when|where|while|which|who|what|wann|wo|was|wer|wie|als|weil|cuando|donde|que|quien|como)\M'
    '(?!.{0,3}\m(?:s|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|re|ll)\M)[^,]*'
    '(?:,| (?:i|we|he|she|they|you|ich|wir|er|sie|du|yo) (?:can.?t|don.?t|do|did|never|always|am|was|were|had|have)\M)'
    '|^\W*(?:hatte|hat|war|ist|sind|gibt) (?:ich|er|sie|es|wir)\M[^?]*$'
    '|^\W*(?:what|where|who) (?:i|we|he|she|they) \w+ (?:\w+ ){0,3}(?:is|are|was|were)\M|^\W*(?:how to|wie man|cómo \w+[aei]r)\M[^:?]*: +\w';

-- lack_pattern: matches a sentence that says why one asks: "I forgot.", "I can't remember." In lower case.
CREATE OR REPLACE FUNCTION recall_private.lack_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:(?:sorry|but|and|aber|und|pero|y),? )?(?:(?:i|we)(?: just| really| always| keep)* (?:forgot|forget|forgetting|(?:can.?t|cannot|don.?t|do not) '
    '(?:remember|recall|know|find)|need (?:it|that|this|to know)|have no idea|lost it|am curious|.m curious)\M'
    '|(?:quick|just|small|one) (?:question|curious)|it.?s urgent|asap|no idea'
    '|ich hab(?:e|.s)?(?: es| das)? vergessen|ich wei(?:ß|ss) (?:es |das )?nicht|hab.?s vergessen|kurze frage|keine ahnung'
    '|(?:lo |la |se me )?(?:he )?(?:olvidé|olvide|olvidado|olvidó)\M|no (?:me acuerdo|lo sé|recuerdo)\M|una pregunta)';

-- fragment_pattern: matches what somebody adds to a question without saying anything by it: "like Japan", "the boy", "for
-- the flat". In lower case; a word that could be a verb of a statement ends it.
CREATE OR REPLACE FUNCTION recall_private.fragment_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:the|a|an|like|for|in|with|about|or|preferably|maybe|roughly|this|that|my|our|ideally|just|der|die|das|den|dem|ein|eine|für|mit|oder|wie'
    '|vielleicht|el|la|los|las|un|una|para|con|como|o|quizás)\M'
    '(?! (?:do|can|gets|likes?|kann|es)\M)'
    '(?: (?!(?:i|we|he|she|it|they|is|are|was|were|has|have|had|did|does|will|can.?t|got|hates?|loves?|comes?|goes|said|says|ich|wir|er|sie|ist|sind|war|hat|haben|yo|está|son|fue|tiene)\M)'
    '[[:alpha:]][\w-]*){1,4}\W*$';

-- fact_pattern: matches a text that says something of a person beside what it asks: "I'm vegetarian, what can I cook?". In
-- lower case.
CREATE OR REPLACE FUNCTION recall_private.fact_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '\m(?:i[’'']?(?:m|ve)|(?:he|she)[’'']?s|(?:we|they)[’'']?(?:re|ve))\M'
    '|\m(?:i|we|he|she|they|my \w+|our \w+) (?:am|are|is|was|were|have|has|had|hates?|loves?|likes?|prefers?|never|always|cannot|can[’'']?t'
    '|don[’'']?t|doesn[’'']?t|won[’'']?t)\M'
    '|\m(?:ich|wir|er|sie|meine? \w+) (?:bin|sind|ist|war|habe|hab|haben|hat|mag|mögen|hasse|hasst|esse|isst|trinke|vertrage|verträgt|darf|kann|können)\M'
    '|\m(?:soy|somos|es|tengo|tiene|tenemos|odio|odia|prefiero|prefiere|soporto|no (?:puedo|puede|podemos)|me gusta)\M';

-- no_answer_words: matches an answer that says that there is none.
CREATE OR REPLACE FUNCTION recall_private.no_answer_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    -- English
    '(don <-> t | dont | do <-> not) <-> (know | have <-> (that | any | this | access | information)) | no <-> '
    || 'idea | (can <-> t | cant | cannot | couldn <-> t) <-> (know | tell) | (no | any) <-> way <-> of <-> knowing | not <-> me & !(was | is) | '
    || 'no <-> clue | have <-> no <-> (record | information | note | memory) | (haven <-> t | have <-> not | never | didn '
    || '<-> t) <-> (told | tell | mention | mentioned | said | shared | share) <-> (me | that | it) | you <-> '
    || '(never | haven <-> t) <-> (mentioned | said) | '
    -- German
    || 'keine <-> ahnung | ((weiß | weiss) | weiss) <-> (ich <-> nicht | nicht | (es | das) <-> nicht | ich <-> leider <-> nicht) | habe '
    || '<-> ich <-> (keine | nichts | leider) | (nicht | nie) <-> (gesagt | (erzählt | erzaehlt | erzahlt) | '
    || '(erwähnt | erwaehnt | erwahnt)) | '
    -- Spanish
    || 'no <-> sé | no <-> lo <-> (sé | se) | ni <-> idea | no <-> tengo <-> ((información | informacion) | '
    || 'constancia | ese <-> dato | datos) | no <-> me <-> (has | ha | lo <-> has) <-> (dicho | contado | '
    || 'mencionado)'
)::tsquery;

-- without_quotations: a text without code, quotations and mail that it answers or forwards. For short texts: the time grows
-- with the square of the length.
CREATE OR REPLACE FUNCTION recall_private.without_quotations(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_text text := p_text;
    v_block text;
BEGIN
    IF p_text !~ '["\u201C\u201E\u2018\u00AB\u00BB\u2039\u203A\u300C\u300E`~<>#]|//|--|/\*|:\s*\n|(^|[\s(:])''|(^|\n)( {4}|\t)' THEN
        RETURN p_text;
    END IF;
    -- Blocks first: what they contain may look like the rest. One pattern each, because one that begins with alternatives
    -- matches as much as it can.
    FOREACH v_block IN ARRAY ARRAY['```.*?(```|$)', '~~~.*?(~~~|$)', '/\*.*?(\*/|$)', '<blockquote\M.*?(</blockquote>|$)',
                                   '<pre\M.*?(</pre>|$)', '<code\M.*?(</code>|$)'] LOOP
        v_text := regexp_replace(v_text, v_block, ' ', 'gi');
    END LOOP;
    v_text := regexp_replace(
        v_text, '(^|\n)(-{2,} ?(forwarded|original|weitergeleitete|ursprüngliche|mensaje)\M'
        '|[^\n]{0,200}\m(wrote|schrieb|escribió)\M[^\n]{0,80}:\s*\n).*$', ' ', 'i');
    v_text := regexp_replace(
        v_text, '(^|\n)([ \t]*(>|//|#|--)|( {4}|\t)|[^\n]*[=;{}][^\n]*(//|#|--))[^\n]*', ' ', 'g');
    RETURN regexp_replace(
        v_text, '`[^`\n]*`|"[^"]{1,255}"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|‹[^›]*›|›[^‹]*‹|「[^」]*」|『[^』]*』|‘[^\n]*’'
        '|(?<![[:alnum:]])''[^''\n]+(''[[:alnum:]][^''\n]*)*''(?![[:alnum:]])', ' ', 'g');
END $$;

-- own_words: what a message says in its author's own words (see without_quotations). Of a long one, the beginning and the end are
-- read, so that no text takes long.
CREATE OR REPLACE FUNCTION recall_private.own_words(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length(p_text) <= 1500 THEN recall_private.without_quotations(p_text) ELSE
    recall_private.without_quotations(left(p_text, 1000)) || E'\n' || recall_private.without_quotations(
        -- A block of code that is open where the end begins.
        CASE WHEN (length(left(p_text, -500)) - length(replace(left(p_text, -500), '```', ''))) / 3 % 2 = 1 THEN '```' ELSE '' END
        || right(p_text, 500)) END;

-- is_only_question: whether a message does nothing but ask: each of its sentences asks something or only leads up to that.
-- A long message tells something too.
CREATE OR REPLACE FUNCTION recall_private.is_only_question(p_text text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_sentence text;
    v_asks boolean := false;
BEGIN
    IF length(p_text) > 300 OR NOT (p_text ~ '[?¿？]' OR lower(p_text) ~ recall_private.question_pattern()) THEN
        RETURN false;
    END IF;
    FOREACH v_sentence IN ARRAY regexp_split_to_array(p_text, '(?<=[.!?？。])\s+|\n+') LOOP
        CONTINUE WHEN v_sentence ~ '^[[:punct:]\s]*$' OR lower(v_sentence) ~ recall_private.acknowledgement_pattern()
            OR length(v_sentence) <= 80 AND v_sentence !~ '[?？]\W*$' AND lower(v_sentence) ~ recall_private.lack_pattern()
            -- One word, as an answer before a question; any more of them tell something.
            OR v_sentence !~ '[?？]\W*$' AND v_sentence ~ '^\S+\s*$'
            OR v_asks AND v_sentence !~ '\d' AND lower(v_sentence) ~ recall_private.fragment_pattern();
        -- "I have a meeting on Friday, can you remind me?" tells something.
        IF length(v_sentence) <= 200 AND lower(v_sentence) ~ recall_private.question_pattern()
               AND (v_sentence ~ '[?？]\W*$' OR lower(v_sentence) !~ recall_private.clause_pattern())
           OR length(v_sentence) <= 80 AND v_sentence ~ '[?？]\W*$'
              AND lower(v_sentence) !~ '^\W*(?:i|we|my|our|ich|wir|meine?|unsere?|yo|nosotros|mi)\M' THEN
            v_asks := true;
        ELSE
            RETURN false;
        END IF;
    END LOOP;
    RETURN v_asks;
END $$;

-- both_ends: what is read of a text to find its speech act: all of it, of a long one the beginning and the end.
CREATE OR REPLACE FUNCTION recall_private.both_ends(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length(p_text) <= 1500 THEN p_text ELSE left(p_text, 1000) || E'\n' || right(p_text, 500) END;

-- found_speech_act: the speech act of a memory, by its text and the role of who said it. Only what a user said is a
-- directive, since anybody can write a document that looks like one. A memory with a title is a note, whatever role it
-- claims: it states something.
CREATE OR REPLACE FUNCTION recall_private.found_speech_act(p_title text, p_body text, p_role text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_words tsvector;
    v_own tsvector := '';
BEGIN
    -- What is long and no directive is a statement (see below): its words need not be read.
    IF p_title <> '' OR length(p_body) > 300 AND p_role IS DISTINCT FROM 'user' THEN
        RETURN 'statement';
    END IF;
    v_words := to_tsvector('pg_catalog.simple', recall_private.both_ends(p_body));
    IF p_role = 'user' THEN
        -- Few texts have such words at all; only of these, the author's own are looked for, which takes longer.
        IF v_words @@ recall_private.instruction_words() OR v_words @@ recall_private.preference_words() THEN
            v_own := to_tsvector('pg_catalog.simple', recall_private.own_words(p_body));
        END IF;
        -- "Could you always ...?" wants something; "Do you always ...?" asks whether it is so.
        IF v_own @@ recall_private.instruction_words() AND NOT (
               lower(p_body) ~ '^\W*(?:do|does|did|is|are|was|were|have|has|had|who|what|when|where|why|how|which|machst|hast|bist|ist|sind|warum|haces|has|es|por qué)\M'
               AND recall_private.is_only_question(p_body)) THEN
            RETURN 'instruction';
        -- "What else could he be allergic to?" states none.
        ELSIF v_own @@ recall_private.preference_words()
              AND (NOT recall_private.is_only_question(p_body) OR lower(p_body) ~ recall_private.fact_pattern()) THEN
            RETURN 'preference';
        END IF;
    END IF;
    IF length(p_body) > 300 THEN
        RETURN 'statement';
    ELSIF length(p_body) <= 80 AND lower(p_body) ~ recall_private.acknowledgement_pattern()
          OR length(p_body) <= 160
             AND (CASE WHEN length(p_body) <= 90 THEN v_words
                       ELSE to_tsvector('pg_catalog.simple', left(p_body, 50) || ' | ' || right(p_body, 40)) END)
                 @@ recall_private.no_answer_words() THEN
        RETURN 'acknowledgement';
    ELSIF recall_private.is_only_question(p_body) THEN
        RETURN 'question';
    ELSIF p_role IS DISTINCT FROM 'assistant' AND (
            v_words @@ recall_private.change_words()
            OR lower(p_body) ~ recall_private.now_pattern() AND lower(p_body) ~ recall_private.value_pattern()
               AND NOT v_words @@ '(right | just | for | know | that | until | till | by) <-> now'::tsquery) THEN
        RETURN 'change';
    END IF;
    RETURN 'statement';
END $$;

-- directive_sentence: the sentence that makes a text a directive, of this speech act; NULL if none does by itself. One within
-- code or a quotation is only taken if there is no other. It is whole, as a part may mean the opposite: it goes on after an
-- abbreviation, and one that ends with a colon has the lines after it. Of a long text, the beginning and the end are read,
-- without the sentences that are cut there.
CREATE OR REPLACE FUNCTION recall_private.directive_sentence(p_body text, p_act text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    v_text text := CASE WHEN length(p_body) <= 4000 THEN p_body ELSE
        regexp_replace(left(p_body, 2000), '[^.!?？。\n]*$', '') || E'\n'
        || regexp_replace(right(p_body, 2000), '^[^.!?？。\n]*[.!?？。\n]', '') END;
    v_own text := recall_private.own_words(p_body);
    v_words tsquery := CASE p_act WHEN 'instruction' THEN recall_private.instruction_words()
                                  WHEN 'preference' THEN recall_private.preference_words() END;
    v_sentence text;
BEGIN
    SELECT btrim(s.sentence, E' \t\r\n') INTO v_sentence
    FROM regexp_split_to_table(
        v_text, '(?<=[.!?？。])(?<!\m(?:\w|Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Nr|No|vs|ca|bzw|etc)\.)\s+(?![[:lower:]])|\n+')
        WITH ORDINALITY s(sentence, place)
    -- Few sentences have such words at all; only of these, the author's own are looked for, which takes longer.
    WHERE CASE WHEN to_tsvector('pg_catalog.simple', s.sentence) @@ v_words
               THEN to_tsvector('pg_catalog.simple', recall_private.without_quotations(s.sentence)) @@ v_words END
    ORDER BY position(btrim(s.sentence, E' \t\r\n') IN v_own) = 0, s.place LIMIT 1;
    IF v_sentence LIKE '%:' THEN
        v_sentence := btrim(split_part(
            regexp_replace(substr(v_text, position(v_sentence IN v_text)), '\n[ \t\r]*\n', E'\f'), E'\f', 1), E' \t\r\n');
    END IF;
    RETURN v_sentence;
END $$;

-- find_speech_act: trigger that finds out the speech act of a memory that nobody marked, when it is stored and when its
-- text or role changes.
CREATE OR REPLACE FUNCTION recall_private.find_speech_act() RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    NEW.speech_act := recall_private.found_speech_act(NEW.title, NEW.body, NEW.role);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER memory_act_inserted BEFORE INSERT ON recall.memory
FOR EACH ROW WHEN (NEW.speech_act IS NULL) EXECUTE FUNCTION recall_private.find_speech_act();

CREATE OR REPLACE TRIGGER memory_act_updated BEFORE UPDATE OF title, body, role, speech_act ON recall.memory
FOR EACH ROW WHEN (NEW.speech_act IS NULL OR NOT NEW.act_marked AND (
    OLD.title, OLD.body, OLD.role) IS DISTINCT FROM (NEW.title, NEW.body, NEW.role))
EXECUTE FUNCTION recall_private.find_speech_act();
