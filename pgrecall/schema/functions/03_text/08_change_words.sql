-- Words by which a statement is known to change an earlier one, for English, German and Spanish.

-- change_words: matches a text that says that something changed, or since when it is as it is: "the demo moved to the 5th",
-- "so the 29th instead", "from Monday I am in Leeds".
CREATE OR REPLACE FUNCTION recall_private.change_words() RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
    -- English
    'no <-> longer | anymore | (not | t | never) & any <-> more | (has | have | is | are | am | ve | s | re | m) <-> moved | '
    || '(moved | changed | switched) <-> (to | it | its | the | his | her | their | my | our | back) | has <-> changed | '
    || 'instead | put <-> (off | back | forward) | put <-> (it | us | them) <-> (off | back | forward) | put <-> the <2> (off '
    || '| back | forward) | pushed | postponed | rescheduled | brought <-> forward | after <-> all | in <-> the <-> end | (is '
    || '| are) <-> off | called <-> off | cancelled | canceled | (earlier | later) <-> than | raised | lowered | extended | '
    || 'change <-> of <-> plan | fell <-> through | quit | so <-> not | not <2> (but | until | till) | not <3> (but | '
    || 'until | till) | only <-> in | (i | we | he | she | they | has | '
    || 'have | was | were | been | got | ve | s | just | since) <-> (switched | swapped | migrated | upgraded | promoted | '
    || 'renamed | replaced | transferred | relocated | repainted | sold) | (started | taken | took | got | joined | found) <2> '
    || 'new | (broke | split) <-> up | single <-> again | divorced | (took | taken) <-> over | (is | are | m | am | s | re) '
    || '<-> now | now <-> (lives | works | runs | uses | called) | these <-> days | nowadays | turns <-> out | moved <-> off '
    || '| went <-> over | gone <-> (to | up | down | from) | !(have | has | had | is | are | s) <-> no <-> more | '
    || 'from <-> (now | here) <-> on | as <-> of | (from | '
    || 'since) <-> (first | next | this | last | january | february | march | april | may | june | july | august | september '
    || '| october | november | december | monday | tuesday | wednesday | thursday | friday | saturday | sunday) & !(from <2> '
    || '(to | until | till | through)) | '
    -- German
    || 'mittlerweile | inzwischen | verschoben | doch <-> (erst | nicht | schon | nur | bis | am | um) | statt | stattdessen | '
    || 'nicht <-> mehr | umgezogen | geändert | ab <-> (sofort | jetzt) | erst <-> (am | im | ab) | abgesagt | gestorben | '
    || 'gewechselt | verlegt | verschiebt | umgestellt | umgestiegen | erhöht | gesenkt | gestrichen | verkauft | ersetzt | '
    || 'umbenannt | künftig | nun | (ist | sind | bin | hat) <-> jetzt | jetzt <-> (bei | in | auf | bis | im) | seit <-> '
    || '(heute | gestern | kurzem | neuestem) | getrennt | übernommen | in <-> rente | sondern | ab <-> (heute | morgen | '
    || 'ersten | januar | februar | märz | april | mai | juni | juli | august | september | oktober | november | dezember | '
    || 'montag | dienstag | mittwoch | donnerstag | freitag | samstag | sonntag) | '
    -- Spanish
    || 'ya <-> no | al <-> final | en <-> (vez | lugar) | cambió | cambiaron | cambiamos | cambiado | cambié | aplaz:* | '
    || 'retras:* | canceló | cancelaron | cancelado | (se <-> mudó | me <-> mudé) | (ha | han | hemos | he) <-> (movido | '
    || 'subido | bajado | pasado | migrado | mudado | trasladado | vendido) | sube | pasa <-> a | se <-> ha <-> ido | se <-> '
    || 'pasó | pasó <-> a | subió | subieron | bajó | bajaron | vendí | vendimos | vendió | rompimos | ya <-> '
    || '(estamos | vive | vivo | trabaja) | ahora <-> (es | está | son | vive | trabaja) | sino | ya <2> (con | en) | desde '
    || '<-> (este | enero | febrero | marzo | abril | mayo | junio | julio | agosto | septiembre | octubre | '
    || 'noviembre | diciembre) & !(voy | vamos | hasta)'
)::tsquery
$$;

-- now_pattern: with value_pattern, matches a text that says how something is now: "so it's 54,600 now". In lower case.
CREATE OR REPLACE FUNCTION recall_private.now_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\m(?:now|actually|new|moved|jetzt|neue[rsn]?|ahora|nuev[oa])\M';

-- value_pattern: matches a text with a number, a day or a month, or with "now" at the end of a clause. In lower case.
CREATE OR REPLACE FUNCTION recall_private.value_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '\d|\mnow(?:[,.;]|\W*$)|\m(?:january|february|march|april|may|june|july|august|september|october|november|december'
    '|monday|tuesday|wednesday|thursday|friday|saturday|sunday'
    '|januar|februar|märz|mai|juni|juli|oktober|dezember|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag'
    '|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre'
    '|lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\M';
