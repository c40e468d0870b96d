"""Writes ``pgrecall/client/async_memory.pyi``: the methods of ``Memory``, as ``AsyncMemory`` has them.

    python scripts/async_stub.py            writes the file
    python scripts/async_stub.py --check    exits with 1 where it is not what it should be

Both clients have the very same methods, so the types of one are made from the source of the other.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pgrecall.client.async_driver import AsyncDriver
from pgrecall.client.driver import Driver
from pgrecall.client.memory import Capabilities

TARGET = Path(inspect.getfile(Capabilities)).with_name("async_memory.pyi")
HEAD = "# Made by scripts/async_stub.py from the methods of Memory; do not edit.\n"
WIDTH = 110

Method = ast.FunctionDef | ast.AsyncFunctionDef


def stub() -> str:
    """The text of the stub."""
    drivers: list[type] = [Driver, AsyncDriver]
    sources = [*drivers, *Capabilities.__bases__]
    methods = [(method, cls is Driver) for cls in sources for method in _methods(cls)]
    lines = [*_attributes(Driver), *(_written(method, awaited=not at_once) for method, at_once in methods)]
    used = {name for method, _ in methods for name in _names(method)}
    return f"{HEAD}{_imports(sources, used)}\nclass AsyncMemory:\n{''.join(lines)}"


def _attributes(cls: type) -> Iterator[str]:
    """What a class says of the attributes of its objects."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            yield f"    {ast.unparse(node)}\n"


def _methods(cls: type) -> Iterator[Method]:
    """What a class offers to its users, in the order of its source."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    for node in tree.body:
        public = ("__init__", "__aenter__", "__aexit__")
        if isinstance(node, Method) and (not node.name.startswith("_") or node.name in public):
            yield node


def _written(method: Method, *, awaited: bool) -> str:
    """A method without its body, its parameters filled to the width."""
    decorators = "".join(f"    @{ast.unparse(each)}\n" for each in method.decorator_list)
    head = f"    {'async ' if awaited else ''}def {method.name}("
    tail = f") -> {ast.unparse(method.returns) if method.returns else 'None'}: ..."
    lines = [""]
    for parameter in _parameters(method.args):
        if len(lines[-1]) + len(parameter) > WIDTH - 11:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + parameter
    if len(lines) == 1 and len(head + lines[0] + tail) <= WIDTH:
        return f"{decorators}{head}{lines[0]}{tail}\n"
    filled = "".join(f"        {line},\n" for line in lines)
    if method.args.kwarg is not None:
        filled = filled.removesuffix(",\n") + "\n"
    return f"{decorators}{head}\n{filled}    {tail}\n"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    """Each parameter as it is written in a stub, where only plain values stay as defaults."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*without, *arguments.defaults], strict=True):
        yield _parameter(argument, default)
    if arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if arguments.kwarg is not None:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    if default is None:
        return f"{argument.arg}{annotation}"
    value = ast.unparse(default) if isinstance(default, ast.Constant) else "..."
    return f"{argument.arg}{annotation} = {value}"


def _names(method: Method) -> set[str]:
    """The names that the annotations of a method use."""
    parameters = [node for node in ast.walk(method.args) if isinstance(node, ast.arg)]
    notes = [method.returns, *(parameter.annotation for parameter in parameters)]
    return {node.id for note in notes if note for node in ast.walk(note) if isinstance(node, ast.Name)}


def _imports(classes: list[type], used: set[str]) -> str:
    """The imports of the sources, as far as the stub uses their names."""
    names: dict[str, set[str]] = {}
    for cls in classes:
        for node in _at_the_top(ast.parse(Path(inspect.getfile(cls)).read_text()).body):
            if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
                found = {alias.name for alias in node.names if alias.name in used}
                names.setdefault(node.module, set()).update(found)
    groups = [
        [f"from {module} import {', '.join(sorted(found, key=_import_order))}"
         for module, found in sorted(names.items()) if found and module.startswith("pgrecall") == ours]
        for ours in (False, True)
    ]  # fmt: skip
    return "\n\n".join("\n".join(_wrapped(line) for line in group) for group in groups if group) + "\n"


def _at_the_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, with those that only type checkers see."""
    for node in body:
        if isinstance(node, ast.If):
            yield from node.body
        else:
            yield node


def _import_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _wrapped(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    head, names = line.split(" import ")
    return f"{head} import (\n" + "".join(f"    {name},\n" for name in names.split(", ")) + ")"


def main() -> int:
    text = stub()
    if "--check" in sys.argv[1:]:
        return int(not TARGET.exists() or TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
