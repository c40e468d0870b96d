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
from scripts.sql_declarations import parts

ABOUT = """
The same noun in Python, SQL, HTTP, on the command line and in MCP. `help(Memory.remember)` and
`help(Memory.plans.prune)` explain a method in Python; TypeScript has those with a route, in camel case.
"""


@dataclass(frozen=True)
class Noun:
    """Where a noun is.

    Attributes:
        methods: those of `Memory` that are in no folder of `groups`.
        groups: groups of `Memory`, and folders of `pgrecall/nouns` with methods of `Memory` itself.
        sql: parts of sql.md.
        routes: first words of routes.
        commands: first words of commands.
        tools: tools of agents.
    """

    methods: str = ""
    groups: str = ""
    sql: tuple[str, ...] = ()
    routes: str = ""
    commands: str = ""
    tools: str = ""


NOUNS = {
    "Memories": Noun(
        groups="memories",
        sql=("Remember",),
        routes="memories pins forget-session unarchive-session unarchive",
        commands="remember edit list show pin forget unarchive unarchive-session",
        tools="remember get forget",
    ),
    "Versions and changes": Noun(
        groups="history",
        sql=("Versions and changes",),
        routes="versions differences changes history",
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
        groups="quality",
        sql=("Use and feedback",),
        routes="accesses feedback quality",
        commands="access feedback quality",
        tools="used",
    ),
    "Links": Noun(
        groups="links",
        sql=("Links",),
        routes="links supersede summaries",
        commands="link unlink supersede stale-summaries",
        tools="link supersede",
    ),
    "Vitality": Noun(groups="charts", sql=("Vitality",), commands="charts"),
    "Layers, settings and language": Noun(
        groups="layers settings",
        sql=("Layers", "Settings", "Tenant and language"),
        routes="layers settings",
        commands="layers settings language",
    ),
    "Models and calibration": Noun(sql=("Relevance and rerankers",), commands="calibration models"),
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
        sql=("Keys of the HTTP service", "Roles for administrators"),
        routes="grants",
        commands="keys roles",
    ),
    "Readers": Noun(
        "share", "readers", ("Readers of a shared tenant",), routes="share", commands="readers share"
    ),
    "Databases": Noun("open close for_tenant", commands="init upgrade postgres"),
    "Services and agents": Noun(commands="serve connect capture mcp tools"),
    "Several databases": Noun(commands="cell tenant router"),
}
_ROUTE = re.compile(r"(?:GET|PUT|POST|PATCH|DELETE) (?:/v1)?/([a-z-]+)")
_COMMAND = re.compile(r"pgrecall ([a-z-]+)")


def _of_memory() -> dict[str, list[str]]:
    """The public methods and groups of `Memory`, by noun."""
    chosen = {name: noun for noun, one in NOUNS.items() for name in one.methods.split()}
    folders = {group: noun for noun, one in NOUNS.items() for group in one.groups.split()}
    found: dict[str, list[str]] = {}
    for name, value in inspect.getmembers_static(Memory):
        if name.startswith("_") or not (inspect.isfunction(value) or isinstance(value, GroupProperty)):
            continue
        folder = name if isinstance(value, GroupProperty) else value.__module__.split(".")[-2]
        noun = chosen.get(name) or folders.get(folder)
        if noun is None:
            raise SystemExit(f"Give {name} a noun in scripts/reference/nouns_page.py.")
        found.setdefault(noun, []).append(name)
    return found


def nouns_page(others: dict[str, str]) -> str:
    """The page, from the headings of the others by their names."""
    of_memory = _of_memory()
    found = {
        "SQL": _placed({part: noun for noun, one in NOUNS.items() for part in one.sql}),
        "HTTP": _headed("http.md", others, _ROUTE, "routes"),
        "Command line": _headed("cli.md", others, _COMMAND, "commands"),
        "MCP": _headed("mcp.md", others, re.compile(r"([a-z_]+)"), "tools"),
    }
    sections = []
    for noun in NOUNS:
        lines = [("Python", ", ".join(_methods(of_memory.get(noun, []))))]
        lines += [(face, ", ".join(by_noun.get(noun, []))) for face, by_noun in found.items()]
        sections.append((noun, "\n".join(f"- **{face}**: {links}" for face, links in lines if links)))
    return HEAD + page("Everything by noun", ABOUT, sections)


def _methods(names: list[str]) -> Iterator[str]:
    """Methods, and those of groups after them."""
    groups = [name for name in names if inspect.isclass(getattr(Memory, name))]
    yield from (f"`memory.{name}`" for name in names if name not in groups)
    for group in groups:
        methods = inspect.getmembers(getattr(Memory, group), inspect.isfunction)
        yield from (f"`memory.{group}.{name}`" for name, _ in methods if not name.startswith("_"))


def _placed(noun_of: dict[str, str]) -> dict[str, list[str]]:
    """Links to the SQL functions of each noun."""
    if missing := parts().keys() - noun_of.keys():
        raise SystemExit(f"Give these parts a noun in scripts/reference/nouns_page.py: {sorted(missing)}")
    links: dict[str, list[str]] = {}
    for part, names in parts().items():
        links.setdefault(noun_of[part], []).extend(
            f"[`{name}`](sql.md#{anchor(f'recall.{name}')})" for name in names
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
