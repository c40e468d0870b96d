"""A page as a test reads it: its text, its forms, and what every page has to have."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

import httpx

_EMPTY = {"meta", "link", "input", "br", "img", "hr"}


@dataclass
class Form:
    """A form: where it goes, how, and what it holds before anybody has typed."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    ticked: list[tuple[str, str]] = field(default_factory=list)
    """Boxes with one name for many values, as they stand."""


@dataclass
class Element:
    """A start tag."""

    tag: str
    attributes: dict[str, str | None]
    path: tuple[str, ...]


class Page(HTMLParser):
    """An answer, parsed; tags that are not closed in their order fail the test."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__()
        self.status = answer.status_code
        self.elements: list[Element] = []
        self.forms: list[Form] = []
        self.text = ""
        self._typed = ""
        self._open: list[str] = []
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        self.feed(answer.text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append(Element(tag, attributes, tuple(self._open)))
        if tag == "form":
            self.forms.append(Form(attributes["action"] or "", (attributes.get("method") or "get").upper()))
        if tag == "input" and "form" in self._open:
            ticked = attributes.get("type") not in ("checkbox", "radio") or "checked" in attributes
            if ticked and attributes.get("name"):
                self.forms[-1].fields[attributes["name"] or ""] = attributes.get("value") or ""
            if ticked and attributes.get("type") == "checkbox":
                self.forms[-1].ticked.append((attributes.get("name") or "", attributes.get("value") or ""))
        if tag in ("textarea", "select") and "form" in self._open:
            self._typed = attributes.get("name") or ""
            if tag == "textarea":
                self.forms[-1].fields[self._typed] = ""
        if tag == "option" and "form" in self._open:
            value = attributes.get("value") or ""
            if "selected" in attributes or self._typed not in self.forms[-1].fields:
                self.forms[-1].fields[self._typed] = value  # the first one, unless another is selected
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(self._open)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self.text += data
        if "textarea" in self._open and "form" in self._open:
            so_far = self.forms[-1].fields[self._typed]
            self.forms[-1].fields[self._typed] = so_far + (data if so_far else data.removeprefix("\n"))

    def all(self, tag: str, **wanted: str) -> list[Element]:
        return [
            element
            for element in self.elements
            if element.tag == tag
            and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def form(self, action: str) -> Form:
        [found] = [form for form in self.forms if form.action.partition("#")[0] == action]
        return found

    @property
    def said(self) -> str:
        return " ".join(self.text.split())


def complaints(page: Page) -> list[str]:
    """What a page lacks that everybody needs who does not see it, or uses no pointer."""
    found = []
    ids = [element.attributes["id"] for element in page.elements if element.attributes.get("id")]
    found += [f"id {name} stands twice" for name in set(ids) if ids.count(name) > 1]
    if page.elements[0].attributes.get("lang") != "en":
        found.append("no language")
    if len(page.all("h1")) != 1 or len(page.all("main")) != 1 or not page.all("title"):
        found.append("not one title, one main part and one first heading")
    levels = [int(element.tag[1]) for element in page.elements if element.tag in ("h1", "h2", "h3")]
    found += [f"h{after} follows h{before}" for before, after in pairwise(levels) if after > before + 1]
    labels = {element.attributes.get("for") for element in page.all("label")}
    for element in page.elements:
        about, kind = element.attributes, element.attributes.get("type")
        typed = element.tag in ("input", "select", "textarea") and kind != "hidden" and "hidden" not in about
        if typed and about.get("id") not in labels and "label" not in element.path:
            found.append(f"{element.tag} {about.get('name')} has no label")
        seen = element.tag == "svg" and about.get("aria-hidden") != "true"
        if seen and not (about.get("aria-label") or about.get("aria-labelledby")):
            found.append("a chart without words")
        found += [f"{name} within a tag" for name in about if name.startswith("on") or name == "style"]
    found += ["a table without a caption"] * (len(page.all("table")) - len(page.all("caption")))
    return found


def sent(client: httpx.Client, form: Form, **typed: str | list[str]) -> httpx.Response:
    """What comes of sending a form as a browser does."""
    values: dict[str, object] = {**form.fields, **typed}
    for name in {name for name, _ in form.ticked} - set(typed):
        values[name] = [value for known, value in form.ticked if known == name]
    if form.method == "GET":
        return client.get(form.action, params={**form.fields, **typed})
    return client.post(form.action, data=values, headers={"Sec-Fetch-Site": "same-origin"})
