"""Statements that something changed, which go before what they change."""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

_ACTS = "'statement', 'question', 'acknowledgement', 'instruction', 'preference', 'change'"
_CHANGE = (
    r"\m(?:no longer|not any ?more|(?:has|have|is|are|am|[’''](?:ve|s|re|m)) moved|(?:moved|changed|switched) (?:to|it|its|the|his|her|their|my|our|back)"
    r"|has changed|instead|put (?:it |us |them |the \w+ )?(?:off|back|forward)|pushed|postponed|rescheduled|brought forward|after all|in the end"
    r"|(?:is|are) off|called off|cancell?ed|(?:earlier|later) than|raised|lowered|extended|change of plan|fell thr\w+|quit|so not"
    r"|not [^.!?]{0,25}\m(?:but|until|till)|only in"
    r"|mittlerweile|inzwischen|verschoben|doch (?:erst|nicht|schon|nur)|statt|stattdessen|nicht mehr|umgezogen|geändert|ab sofort|ab jetzt"
    r"|erst (?:am|im|ab)|abgesagt|gestorben"
    r"|ya no|al final|en vez|en lugar|cambi(?:ó|aron|amos|ado|é)|aplaz\w+|retras\w+|cancel(?:ó|aron|ado)|(?:se mudó|me mudé)"
    r"|han (?:movido|subido|bajado|cambiado)|sube|pasa a)\M"
)
_NOW = r"\m(?:now|actually|new|moved|jetzt|neue[rsn]?|ahora|nuev[oa])\M"
_VALUE = (
    r"\d|\m(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\M"
)


def upgrade() -> None:
    op.execute(
        "ALTER TABLE recall.memory DROP CONSTRAINT memory_act_check, "
        f"ADD CONSTRAINT memory_act_check CHECK (speech_act IN ({_ACTS}))"
    )
    op.execute("ALTER TYPE recall.query_intent ADD ATTRIBUTE in_past boolean")
    op.get_bind().exec_driver_sql(
        "UPDATE recall.memory SET speech_act = 'change' WHERE speech_act = 'statement' AND NOT act_marked "
        "AND title = '' AND length(body) <= 300 AND role IS DISTINCT FROM 'assistant' AND ("
        f"lower(body) ~ '{_CHANGE}' OR lower(body) ~ '{_NOW}' AND lower(body) ~ '{_VALUE}')"
    )
