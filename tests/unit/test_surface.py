"""The surface of the package: what it names, what importing it costs, and who reads the environment."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import pgrecall
from pgrecall import arguments, errors
from pgrecall.nouns.charts.models import OverviewList
from pgrecall.nouns.charts.operations import OVERVIEW_LISTS

PACKAGE = Path(pgrecall.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def public_names(module: object) -> set[str]:
    modules = {name for name, value in vars(module).items() if inspect.ismodule(value)}
    return {name for name in vars(module) if not name.startswith("_")} - modules


def values_of_models() -> list[Any]:
    modules = [
        import_module(f"pgrecall.nouns.{path.parent.name}.{path.stem}")
        for path in (PACKAGE / "nouns").glob("*/[a-z]*.py")
    ]
    members = (member for module in modules for member in vars(module).values())
    return [member for member in members if inspect.isclass(member) and dataclasses.is_dataclass(member)]


def returns_of(client: type) -> list[str]:
    """What each method of a client and of its groups returns, as its annotation has it."""
    classes = [client, *(value for _, value in inspect.getmembers(client, inspect.isclass))]
    methods = [method for cls in classes for _, method in inspect.getmembers(cls, inspect.isfunction)]
    return [str(method.__annotations__.get("return", "")) for method in methods]


def test_all_is_sorted() -> None:
    assert pgrecall.__all__ == sorted(set(pgrecall.__all__))


@pytest.mark.parametrize("name", pgrecall.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(pgrecall, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pgrecall' has no attribute 'Nothing'"):
        _ = pgrecall.Nothing


def test_every_public_member_is_in_all() -> None:
    tools = {"annotations", "import_module", "TYPE_CHECKING"}
    assert public_names(pgrecall) - tools <= set(pgrecall.__all__)


def test_every_error_is_exported() -> None:
    tree = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert tree <= set(pgrecall.__all__)


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if inspect.isclass(value):
            assert issubclass(value, errors.RecallError)
            assert name in drawn


def test_every_value_is_exported() -> None:
    returned = {name for method in returns_of(pgrecall.Memory) for name in re.findall(r"[A-Z]\w+", method)}
    values = {value.__name__ for value in values_of_models() if "service" not in value.__module__}
    assert len(values & returned) > 20
    assert values & returned <= set(pgrecall.__all__)


def test_every_value_is_frozen_and_has_slots() -> None:
    for value in values_of_models():
        assert value.__dataclass_params__.frozen
        assert hasattr(value, "__slots__")


def test_importing_pgrecall_imports_nothing_heavy() -> None:
    code = "import json, sys, pgrecall; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "sentence_transformers", "sqlalchemy", "psycopg", "alembic", "pydantic", "httpx"}
    heavy |= {"pgrecall.nouns", "dataclasses"}
    assert heavy & set(json.loads(done.stdout)) == set()


def test_the_client_imports_no_model_library() -> None:
    code = "import json, sys, pgrecall; pgrecall.Memory; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"torch", "sentence_transformers", "transformers"} & set(json.loads(done.stdout)) == set()


def reads_environment(path: Path) -> bool:
    doors = {"environ", "environb", "getenv", "getenvb", "BaseSettings"}
    tree = ast.walk(ast.parse(path.read_text()))
    names = ({node.attr} if isinstance(node, ast.Attribute)
             else {node.id} if isinstance(node, ast.Name)
             else {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom)
             else set() for node in tree)  # fmt: skip
    return any(doors & used for used in names)


def test_only_settings_reads_the_environment() -> None:
    readers = [path.relative_to(PACKAGE).as_posix() for path in MODULES if reads_environment(path)]
    assert readers == ["settings.py"]


def test_the_fields_of_a_draft_are_those_the_client_takes() -> None:
    fields = [field.name for field in dataclasses.fields(pgrecall.Draft)]
    assert [*get_type_hints(arguments.DraftFields)] == fields[1:]
    assert fields[0] == "body"


def test_the_fields_of_a_request_are_those_the_client_takes() -> None:
    fields = [field.name for field in dataclasses.fields(pgrecall.SearchRequest)]
    fields.remove("query")
    assert [*get_type_hints(arguments.SearchOptions)] == fields
    assert next(iter(inspect.signature(pgrecall.SearchRequest).parameters)) == "query"


def test_an_overview_has_every_list_by_default() -> None:
    assert get_args(OverviewList) == OVERVIEW_LISTS


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    docstring = (ast.get_docstring(function) or "").count("\n")
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_modules_and_functions_are_short() -> None:
    long = []
    for path in MODULES:
        text = path.read_text()
        if "migrations" in path.parts:  # revisions are never changed
            continue
        if text.count("\n") > 300:
            long.append(path.name)
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        defined = [node for node in ast.walk(ast.parse(text)) if isinstance(node, functions)]
        long += [f"{path.name}: {node.name}" for node in defined if lines_of(node) > 50]
    assert long == []


def public_definitions(
    body: list[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body)


def test_everything_public_has_a_docstring() -> None:
    without = []
    for path in MODULES:
        if "nouns" in path.parts or path.parent.name == "vitality":
            tree = ast.parse(path.read_text())
            defined = public_definitions(tree.body)
            without += [f"{path.name}: {node.name}" for node in defined if not ast.get_docstring(node)]
            assert ast.get_docstring(tree), path
    assert without == []
