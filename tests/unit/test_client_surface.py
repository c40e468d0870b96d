"""Memory and AsyncMemory: one surface, coroutine functions, and a twin that is generated from the other."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import AsyncMock, create_autospec

import pytest

import pgrecall
from pgrecall import AsyncMemory, Memory

AT_ONCE = {"for_project", "for_tenant", "session", "unlogged", "pool_stats", "runner"}
"""Methods that do not ask the database, and so are not awaited."""


def public(cls: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(cls) if not name.startswith("_")}


def shown(method: Any) -> str:
    """The signature of a method; functions that are defaults are not told apart."""
    text = re.sub(r"\bAsync(?=[A-Z])", "", str(inspect.signature(method)))
    return re.sub(r"<function .*? at \w+>", "...", text)


def groups(cls: type) -> dict[str, type]:
    return {name: value for name, value in public(cls).items() if inspect.isclass(value)}


def pairs() -> Iterator[tuple[type, type]]:
    """Each class of the asynchronous client with its synchronous twin."""
    yield AsyncMemory, Memory
    yield from zip(groups(AsyncMemory).values(), groups(Memory).values(), strict=True)


def test_there_are_these_groups() -> None:
    names = [
        "charts", "erasure", "export", "history", "imports", "jobs", "keys", "layers", "maintenance",
        "plans", "quality", "readers", "service", "settings",
    ]  # fmt: skip
    assert list(groups(AsyncMemory)) == list(groups(Memory)) == names


@pytest.mark.parametrize(("awaited", "blocking"), list(pairs()), ids=lambda cls: cls.__name__)
def test_both_have_the_same_methods_and_parameters(awaited: type, blocking: type) -> None:
    assert awaited.__name__ == f"Async{blocking.__name__}"
    assert inspect.signature(awaited).parameters.keys() == inspect.signature(blocking).parameters.keys()
    assert list(public(awaited)) == list(public(blocking))
    for name, value in public(awaited).items():
        if inspect.isfunction(value):
            assert shown(value) == shown(public(blocking)[name]), name


@pytest.mark.parametrize(("awaited", "blocking"), list(pairs()), ids=lambda cls: cls.__name__)
def test_what_is_awaited_is_a_coroutine_function(awaited: type, blocking: type) -> None:
    for name, value in public(awaited).items():
        if inspect.isfunction(value):
            assert inspect.iscoroutinefunction(value) == (name not in AT_ONCE), name
            assert not inspect.iscoroutinefunction(public(blocking)[name]), name


@pytest.mark.parametrize(("awaited", "blocking"), list(pairs()), ids=lambda cls: cls.__name__)
def test_every_method_is_documented(awaited: type, blocking: type) -> None:
    for cls in (awaited, blocking):
        assert inspect.getdoc(cls)
        for name, value in public(cls).items():
            assert inspect.getdoc(value), name
    assert not re.search(r"\bawait\b|\basync\b|Async", pydoc.plain(pydoc.render_doc(blocking)))


def test_help_shows_what_is_awaited() -> None:
    shown = pydoc.plain(pydoc.render_doc(AsyncMemory.search))
    assert "async search(self, query: 'str' = ''" in shown
    assert "-> 'SearchResult'" in shown
    assert "async prune(" in pydoc.plain(pydoc.render_doc(AsyncMemory.plans))


def test_a_mock_of_a_client_is_awaited_where_the_client_is() -> None:
    mock = create_autospec(AsyncMemory, instance=True)
    assert isinstance(mock.search, AsyncMock)
    assert isinstance(mock.plans.prune, AsyncMock)
    assert isinstance(mock.keys.create, AsyncMock)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        mock.plans.prune(max_counts=3)
    blocking = create_autospec(Memory, instance=True)
    assert not isinstance(blocking.search, AsyncMock)
    blocking.layers.drop("diary")
    with pytest.raises(TypeError, match="missing a required argument"):
        blocking.layers.drop()


def test_the_source_of_a_method_is_what_a_person_wrote_or_its_twin() -> None:
    assert "return await find(" in inspect.getsource(AsyncMemory.search)
    assert "return find(" in inspect.getsource(Memory.search)
    assert "async def" not in inspect.getsource(Memory)


def methods_of(cls: type) -> list[Any]:
    return [value for value in public(cls).values() if inspect.isfunction(value)]


@pytest.mark.parametrize("cls", [Memory, *groups(Memory).values()], ids=lambda cls: cls.__name__)
def test_docstrings_name_every_argument_result_and_error(cls: type) -> None:
    for method in methods_of(cls):
        text = inspect.getdoc(method) or ""
        described = re.findall(
            r"^    ([\w, ]+):", text.split("Returns:")[0].split("Raises:")[0], re.MULTILINE
        )
        arguments = {name for names in described for name in names.split(", ")}
        assert inspect.signature(method).parameters.keys() - {"self"} <= arguments, method.__qualname__
        if method.__annotations__["return"] != "None":
            assert "Returns:" in text or text.startswith("Returns"), method.__qualname__
        raised = re.findall(
            r"\w+", " ".join(re.findall(r"^    ((?:[A-Z]\w+(?:, )?)+): ", text, re.MULTILINE))
        )
        assert {name for name in raised if not hasattr(pgrecall, name)} == set(), method.__qualname__


DAILY = (
    "remember", "remember_many", "get", "list", "search", "context", "record_access", "used", "link",
    "supersede", "pin", "forget", "status",
)  # fmt: skip


@pytest.mark.parametrize("name", DAILY)
def test_daily_methods_have_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(Memory, name)) or "")
