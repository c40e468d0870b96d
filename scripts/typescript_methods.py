"""clients/typescript/src/declared.ts: what the Python client declares, as classes of TypeScript."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from inspect import getdoc
from typing import Any, Literal, get_args, get_origin

from pgrecall import AsyncMemory
from pgrecall.faces.described import REFERENCE, REQUIRED, Described, Parameter, described, markdown
from pgrecall.faces.http.declared_routes import declared_methods
from pgrecall.nouns.declared import Declaration

HEAD = """\
/** Made by `python -m scripts.openapi` from the methods that the Python client declares; do not edit. */
import type { components } from "./openapi.js";
import { split } from "./pages.js";
import { referenceText, type Transport } from "./transport.js";
"""
_SIMPLE = {bool: "boolean", int: "number", float: "number", str: "string", datetime: "string"}
_COUNTS = {bool: ".changed", int: ".count"}
_IN_OPTIONS = ("since", "number")
"""Positional in Python and among the options here."""
_RESERVED = {"new": "replacement"}


def declared_ts(types: str) -> str:
    """The text of the file; ``types`` is that of ``types.ts``, from which it imports."""
    classes: dict[str | None, list[str]] = {}
    for method, declaration in declared_methods(AsyncMemory):
        read = described(method)
        classes.setdefault(read.group, []).append(_method(read, declaration))
    text = "\n".join(_class(group, methods) for group, methods in classes.items())
    known = set(re.findall(r"^export (?:type|interface) (\w+)", types, re.M))
    code = re.sub(r"/\*\*.*?\*/", "", text, flags=re.S)
    used = [f"  {name},\n" for name in sorted(known) if re.search(rf"\b{name}\b", code)]
    results = {_item(described(method).result) for method, _ in declared_methods(AsyncMemory)}
    own = sorted({_type(each) for each in results if is_dataclass(each)} - known)
    text = "".join(f'export type {name} = components["schemas"]["{name}"];\n\n' for name in own) + text
    return f'{HEAD}import type {{\n{"".join(used)}}} from "./types.js";\n\n{text}'


def _item(result: Any) -> Any:
    """What a result is, or has."""
    return get_args(result)[0] if get_origin(result) is tuple else result


def _class(group: str | None, methods: list[str]) -> str:
    owner = AsyncMemory if group is None else getattr(AsyncMemory, group)
    about = "The declared methods of a memory." if group is None else _sentences(getdoc(owner) or "")
    name = "MemoryMethods" if group is None else f"{group.title()}Group"
    made = "  constructor(protected readonly transport: Transport) {}\n"
    return f"/** {about} */\nexport class {name} {{\n{made}\n" + "\n".join(methods) + "}\n"


def _sentences(text: str) -> str:
    return " ".join(markdown(text).split("\n\n")[0].split())


def _method(read: Described, declaration: Declaration) -> str:
    named = [each for each in read.parameters if each.positional and each.name not in _IN_OPTIONS]
    optional = [each for each in read.parameters if each not in named]
    fields = [
        f"readonly {each.name}?: {_nullable(each, declaration)}" for each in optional if each.name != "now"
    ]
    options = [f"{{ {'; '.join(fields)} }}"] if fields else []
    options += ["AtTime"] if len(fields) < len(optional) else []
    last = (
        f"options: {' & '.join([*options, 'CallOptions'])} = {{}}" if optional else "call: CallOptions = {}"
    )
    asked = ", ".join([*map(_positional, named), last])
    verb, path = json.dumps(declaration.verb.lower()), json.dumps(declaration.path)
    send = f"this.transport.send({verb}, {path}, request)"
    counted = _COUNTS.get(read.result)
    answer = f"(await {send}){counted}" if counted else send
    lines = [
        *_comment(read),
        f"async {_camel(read.name)}({asked}): Promise<{_type(read.result)}> {{",
        *(["  const { call, rest } = split(options);"] if optional else []),
        f"  const request = {{ {', '.join(_request(named, optional, declaration))} }};",
        f"  return {answer};",
        "}",
    ]
    return textwrap.indent("\n".join(lines) + "\n", "  ")


def _request(named: list[Parameter], optional: list[Parameter], declaration: Declaration) -> list[str]:
    path = [each for each in named if f"{{{each.name}}}" in declaration.path]
    others = [_given(each, declaration) for each in named if each not in path]
    parts = [f"path: {{ {', '.join(_given(each, None) for each in path)} }}"] if path else []
    if optional or others:
        place = "body" if _has_body(declaration, named, optional, path) else "query"
        rest = ["...rest"] if optional else []
        parts.append(f"{place}: {{ {', '.join([*rest, *others])} }}" if others else f"{place}: rest")
    safe = ["safe: true"] if declaration.repeatable and declaration.verb != "GET" else []
    return [*parts, "call", *safe]


def _has_body(
    declaration: Declaration, named: list[Parameter], optional: list[Parameter], path: list[Parameter]
) -> bool:
    fields = {each.name for each in [*named, *optional] if each not in path} - {"now"}
    return bool(fields) and declaration.verb not in ("GET", "DELETE") and not declaration.in_query


def _given(parameter: Parameter, declaration: Declaration | None) -> str:
    name, value = parameter.name, _identifier(parameter)
    if declaration is not None and parameter.type == REFERENCE and declaration.verb in ("GET", "DELETE"):
        value = f"referenceText({value})"
    pair = name if name == value else f"{name}: {value}"
    required = parameter.default is REQUIRED or not parameter.optional
    return pair if required else f"...({value} !== undefined && {{ {pair} }})"


def _positional(parameter: Parameter) -> str:
    name, kind = _identifier(parameter), _type(parameter.type)
    if parameter.default is REQUIRED:
        return f"{name}: {kind}"
    return f"{name}?: {kind}" if parameter.optional else f"{name}: {kind} = {json.dumps(parameter.default)}"


def _nullable(parameter: Parameter, declaration: Declaration) -> str:
    kind = _type(parameter.type)
    in_body = parameter.optional and declaration.verb in ("POST", "PUT") and not declaration.in_query
    return f"{kind} | null" if in_body else kind


def _type(hint: Any) -> str:
    if hint == REFERENCE:
        return "Reference"
    if get_origin(hint) is Literal:
        return " | ".join(map(json.dumps, get_args(hint)))
    if get_origin(hint) in (Sequence, tuple):
        item = _type(get_args(hint)[0])
        return f"readonly ({item})[]" if "|" in item else f"readonly {item}[]"
    if get_origin(hint) is Mapping:
        return f"Readonly<Record<string, {_type(get_args(hint)[1])}>>"
    return _SIMPLE.get(hint) or str(hint.__name__)


def _identifier(parameter: Parameter) -> str:
    return _camel(_RESERVED.get(parameter.name, parameter.name))


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def _comment(read: Described) -> list[str]:
    lines = [*read.about.splitlines(), "", f"@returns {read.returns}"]
    return ["/**", *(f" * {line}".rstrip() for line in lines), " */"]
