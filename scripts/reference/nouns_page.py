"""docs/reference/nouns.md: the methods of each noun, and links to its functions, routes, commands, tools."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pgrecall import Memory
from pgrecall.client._sync.group import GroupProperty
from pgrecall.faces.http.reference.markdown import anchor, page
from scripts.reference.generated import HEAD
from scripts.reference.sql_groups import GROUPS

ABOUT = """
The same noun in Python, SQL, HTTP, on the command line and in MCP. `help(Memory.remember)` and
`help(Memory.plans.prune)` explain a method in Python; TypeScript has those with a route, in camel case.
"""


@dataclass(frozen=True)
class Noun:
    """Where a noun is: methods and groups of `Memory`, parts of sql.md, first words of routes and commands,
    and tools."""

    methods: str = ""
    groups: str = ""
    sql: tuple[str, ...] = ()
    routes: str = ""
    commands: str = ""
    tools: str = ""


NOUNS = {
    "Memories": Noun(
        "remember remember_many edit get list pin forget forget_session unarchive unarchive_session "
        "rename_keys keys_of",
        sql=("Remember",),
        routes="memories pins forget-session unarchive-session unarchive",
        commands="remember edit list show pin forget unarchive unarchive-session",
        tools="remember get forget",
    ),
    "Versions and changes": Noun(
        groups="versions changes",
        sql=("Versions and changes",),
        routes="versions differences changes",
        commands="history diff restore changes",
        tools="history diff restore changes",
    ),
    "Search and context": Noun(
        "search context session for_project unlogged",
        sql=("Search",),
        routes="search context",
        commands="search context",
        tools="search context",
    ),
    "Use, feedback and quality": Noun(
        "record_access record_accesses used rejected",
        groups="feedback quality",
        sql=("Use and feedback",),
        routes="accesses feedback quality",
        commands="access feedback quality",
        tools="used",
    ),
    "Links": Noun(
        "link unlink supersede stale_summaries",
        sql=("Links",),
        routes="links supersede summaries",
        commands="link unlink supersede stale-summaries",
        tools="link supersede",
    ),
    "Vitality": Noun(groups="history charts", sql=("Vitality",), routes="history", commands="charts"),
    "Layers, settings and language": Noun(
        groups="layers settings",
        sql=("Layers", "Settings", "Tenant and language"),
        routes="layers settings",
        commands="layers settings language",
    ),
    "Models and calibration": Noun(
        groups="calibration", sql=("Relevance and rerankers",), commands="calibration models"
    ),
    "Plans": Noun(
        groups="plans",
        sql=("Plans",),
        routes="plans",
        commands="prune dedupe plan",
        tools="prune_plan dedupe_plan",
    ),
    "Imports": Noun("import_drafts", groups="imports", sql=("Imports",), routes="imports", commands="import"),
    "Erasures": Noun(groups="erasure", sql=("Erasures",), routes="erasures", commands="erasure"),
    "Jobs": Noun(
        groups="jobs maintenance",
        sql=("Jobs and maintenance",),
        routes="jobs maintenance",
        commands="worker jobs verify",
    ),
    "State": Noun(
        "status pool_stats keep_warm",
        groups="service",
        sql=("State",),
        routes="status healthz readyz metrics",
        commands="status doctor metrics",
        tools="status",
    ),
    "Exports and backups": Noun(groups="export", sql=("Export and import",), commands="export backup"),
    "Keys and roles": Noun(
        groups="keys",
        sql=("Keys of the HTTP service", "Roles (administrators, as the owner)"),
        routes="grants",
        commands="keys roles",
    ),
    "Readers": Noun(
        "share", "readers", ("Readers of a shared tenant",), routes="share", commands="readers share"
    ),
    "Databases and services": Noun(
        "open close for_tenant",
        commands="init upgrade postgres serve connect capture mcp tools cell tenant router",
    ),
}
_ROUTE = re.compile(r"(?:GET|PUT|POST|PATCH|DELETE) (?:/v1)?/([a-z-]+)")
_COMMAND = re.compile(r"pgrecall ([a-z-]+)")


def _missing() -> set[str]:
    """The public methods and groups of `Memory` that no noun has."""
    public = {
        name
        for name, value in inspect.getmembers_static(Memory)
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, GroupProperty))
    }
    return public - {name for one in NOUNS.values() for name in f"{one.methods} {one.groups}".split()}


def nouns_page(others: dict[str, str]) -> str:
    """The page, from the headings of the others by their names."""
    if missing := _missing():
        raise SystemExit(f"Give these a noun in scripts/reference/nouns_page.py: {sorted(missing)}")
    found = {
        "SQL": _placed(GROUPS, {group: noun for noun, one in NOUNS.items() for group in one.sql}),
        "HTTP": _headed("http.md", others, _ROUTE, "routes"),
        "Command line": _headed("cli.md", others, _COMMAND, "commands"),
        "MCP": _headed("mcp.md", others, re.compile(r"([a-z_]+)"), "tools"),
    }
    sections = []
    for noun, one in NOUNS.items():
        lines = [("Python", ", ".join(_methods(one)))]
        lines += [(face, ", ".join(by_noun.get(noun, []))) for face, by_noun in found.items()]
        sections.append((noun, "\n".join(f"- **{face}**: {links}" for face, links in lines if links)))
    return HEAD + page("Everything by noun", ABOUT, sections)


def _methods(noun: Noun) -> Iterator[str]:
    yield from (f"`memory.{name}`" for name in noun.methods.split())
    for group in noun.groups.split():
        methods = inspect.getmembers(getattr(Memory, group), inspect.isfunction)
        yield from (f"`memory.{group}.{name}`" for name, _ in methods if not name.startswith("_"))


def _placed(groups: dict[str, str], noun_of: dict[str, str]) -> dict[str, list[str]]:
    """Links to the SQL functions of each noun."""
    if missing := groups.keys() - noun_of.keys():
        raise SystemExit(f"Give these groups a noun in scripts/reference/nouns_page.py: {sorted(missing)}")
    links: dict[str, list[str]] = {}
    for group, names in groups.items():
        links.setdefault(noun_of[group], []).extend(
            f"[`{name}`](sql.md#{anchor(f'recall.{name}')})" for name in names.split()
        )
    return links


def _headed(name: str, others: dict[str, str], form: re.Pattern[str], faces: str) -> dict[str, list[str]]:
    """Links to the headings of a page by the noun that names their first word."""
    noun_of = {word: noun for noun, one in NOUNS.items() for word in getattr(one, faces).split()}
    links: dict[str, list[str]] = {}
    for heading in re.findall(r"^### (.+)$", others[name], re.M):
        if known := form.fullmatch(heading) or form.match(heading):
            if known[1] not in noun_of:
                raise SystemExit(f"Give {heading!r} a noun in scripts/reference/nouns_page.py.")
            links.setdefault(noun_of[known[1]], []).append(
                f"[`{heading.removeprefix('pgrecall ')}`]({name}#{anchor(heading)})"
            )
    return links
