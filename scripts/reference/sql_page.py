"""docs/reference/sql.md: the SQL functions that are for people."""

from __future__ import annotations

import re
from typing import Any

from pgrecall.faces.http.reference.markdown import anchor, code, page, table
from scripts.reference.generated import HEAD
from scripts.reference.nouns_page import NOUNS
from scripts.sql_declarations import declared, parts

_VOLATILITY = {"v": "volatile: may write", "s": "stable: reads", "i": "immutable"}
_ASKED = """
SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.provolatile::text,
       (SELECT array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped)
FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype
WHERE p.pronamespace = 'recall'::regnamespace AND p.proname = ANY(%s)
"""
ABOUT = """
What SQL alone can do, in any language. Every function works for the tenant of the session:

```sql
SELECT set_config('recall.tenant', 'acme', false);
```

`p_now` is the clock, for tests and for looking back; leave it out. A value that cannot be used is refused
with one sentence that names it, and a hint; nothing is half done. *Stable* functions change nothing.
Functions that are not listed here are internal and may change. [From SQL alone](../howto/clients.md#sql)
shows the usual ones at work.
"""


def sql_page(connection: Any) -> str:
    connection.execute("SELECT set_config('search_path', 'pg_catalog, public', true)")
    said = {one.name: one.about for one in declared() if one.part}
    found = {row[0]: row for row in connection.execute(_ASKED, (list(said),)).fetchall()}
    named = parts()
    sections = [(part, _section(named[part], found, said)) for noun in NOUNS.values() for part in noun.sql]
    return HEAD + page("SQL functions", ABOUT, sections)


def _section(names: list[str], found: dict[str, Any], said: dict[str, str]) -> str:
    brief = table(
        ("function", "what it does"),
        ((f"[`{name}`](#{anchor(f'recall.{name}')})", _first(said[name])) for name in names),
    )
    return "\n\n".join([brief, *(_function(found[name], said[name]) for name in names)])


def _function(row: Any, said: str) -> str:
    name, arguments, result, volatility, columns = row
    given = [_short(argument) for argument in re.split(r", (?=p_|VARIADIC )", arguments) if argument]
    call = f"recall.{name}({', '.join(given)})"
    if len(call) > 100:
        call = f"recall.{name}(\n" + ",\n".join(f"    {argument}" for argument in given) + "\n)"
    returns, listed = _returned(result, columns)
    parts = [
        f"### recall.{name}",
        f"```text\n{call} → {returns}\n```",
        f"{said[:1].upper()}{said[1:]}",
        f"{listed}*{_VOLATILITY[volatility].capitalize()}.*",
    ]
    return "\n\n".join(parts)


def _short(argument: str) -> str:
    """An argument or column as one writes it: short names of types, defaults without casts."""
    shorter = argument.strip().replace("timestamp with time zone", "timestamptz")
    return re.sub(r"(DEFAULT .+?)::[\w ]+(\[\])?$", r"\1", shorter)


def _returned(result: str, columns: list[str] | None) -> tuple[str, str]:
    """The kind of the result, and a sentence with its columns where it has any."""
    kind, named = result, columns or []
    if whole := re.fullmatch(r"TABLE\((.*)\)", result):
        kind, named = "rows", re.split(r", (?![^(]*\))", whole[1])
    elif result.startswith("SETOF ") and columns:
        kind = "rows"
    elif columns:
        kind = "one row"
    return kind, f"Columns: {', '.join(code(_short(column)) for column in named)}. " if named else ""


def _first(text: str) -> str:
    """The first sentence, or what comes before its first colon or semicolon where that says enough."""
    sentence = re.split(r"(?<=[^.])\.(?:\s|$)|;\s", text)[0]
    if (
        len(sentence) > 110
        and (short := re.split(r": |, (?:which|best|as|for) ", sentence)[0])
        and len(short) > 15
    ):
        sentence = short
    return f"{sentence[:1].upper()}{sentence[1:]}"
