"""Memory and AsyncMemory: one surface, one body for each method, and types that say what is awaited."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pgrecall
from pgrecall import AsyncMemory, Memory
from pgrecall.client.driver import Driver
from pgrecall.client.memory import Capabilities

ROOT = Path(pgrecall.__file__).parents[1]

ONLY_IN = {"Memory": {"runner"}, "AsyncMemory": {"open"}}
"""A runner blocks in threads of its own; a Memory is open once it is made."""


def public(cls: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(cls) if not name.startswith("_")}


def methods() -> Iterator[Callable[..., Any]]:
    for cls in Capabilities.__mro__:
        if issubclass(cls, Driver) and cls is not Driver:
            yield from (value for name, value in vars(cls).items() if inspect.isfunction(value))


def test_both_have_the_same_names() -> None:
    assert set(public(Memory)) - ONLY_IN["Memory"] == set(public(AsyncMemory)) - ONLY_IN["AsyncMemory"]
    for cls in (Memory, AsyncMemory):
        assert ONLY_IN[cls.__name__] <= set(public(cls))


def test_both_take_the_same_parameters() -> None:
    assert inspect.signature(Memory) == inspect.signature(AsyncMemory)
    others = public(AsyncMemory)
    for name, value in public(Memory).items():
        if name in others and inspect.isfunction(value):
            assert inspect.signature(value) == inspect.signature(others[name]), name


def test_their_methods_are_the_same_functions() -> None:
    for method in methods():
        assert getattr(Memory, method.__name__) is getattr(AsyncMemory, method.__name__)


@pytest.mark.parametrize(
    "method", [m for m in methods() if not m.__name__.startswith("_")], ids=lambda m: m.__name__
)
def test_a_method_only_chooses_what_is_performed(method: Callable[..., Any]) -> None:
    """What it did with a result, it would do with something that is still to be awaited."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    assert returns
    performed = [ast.unparse(value).split("(")[0] for value in returns if isinstance(value, ast.Call)]
    assert len(performed) == len(returns)
    assert set(performed) <= {"self._run", "self._drive"}
    named = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert named.count("_run") + named.count("_drive") == len(returns)


def test_every_method_is_documented() -> None:
    for cls in (Memory, AsyncMemory):
        for name, value in public(cls).items():
            assert inspect.getdoc(value), name


def test_the_stub_is_that_of_these_methods() -> None:
    script = ROOT / "scripts" / "async_stub.py"
    done = subprocess.run([sys.executable, str(script), "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run python scripts/async_stub.py"


USE = """
from typing import assert_type

from pgrecall import AsyncMemory, Memory, SearchResult, Status, StoredMemory

async def right() -> None:
    async with AsyncMemory(tenant="acme", timeout=5) as memory:
        assert_type(memory, AsyncMemory)
        assert_type(await memory.search("harbour", k=3), SearchResult)
        assert_type(await memory.for_tenant("other").get("harbour"), StoredMemory)
        async with memory.session("chat-42") as session:
            assert_type(await session.record_access("harbour"), bool)
    with Memory() as blocking:
        assert_type(blocking.status(), Status)
"""

MISUSE = """
from pgrecall import AsyncMemory, Memory

async def wrong(memory: AsyncMemory, blocking: Memory) -> None:
    memory.search("harbour").hits
    await memory.search("harbour", kk=3)
    await memory.get(1.5)
    with memory: ...
    await blocking.status()
    memory.runner()
"""


@pytest.mark.slow
def test_types_say_what_is_awaited(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "misuse.py").write_text(MISUSE)
    # In the project's folder: its settings keep mypy out of torch, and its cache serves `make lint` too.
    mypy = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-warn-unused-configs"]
    files = [str(tmp_path / "use.py"), str(tmp_path / "misuse.py")]
    done = subprocess.run([*mypy, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    complaints = [line.split(":") for line in done.stdout.splitlines() if "error:" in line]
    assert done.stderr == ""
    assert {Path(file).name for file, *_ in complaints} == {"misuse.py"}, done.stdout
    assert {int(line) for _, line, *_ in complaints} == {5, 6, 7, 8, 9, 10}, done.stdout
