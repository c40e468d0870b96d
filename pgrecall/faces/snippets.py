"""Snippets of a body with the matching words of a query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pgrecall.faces.printable import printable
from pgrecall.search.explanation import reason, sentence

if TYPE_CHECKING:
    from pgrecall.nouns.search.models import Hit

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)")
_CUT_LINK = re.compile(r"\]\([a-z]+:[^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)")
_STRONG = re.compile(r"\*\*(\S(?:[^*\n]*\S)?)\*\*")
_CODE = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+", re.M)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>\n]*)?/?>")
_MAX_TEXT = 200_000


def matches(text: str, lexemes: Mapping[str, float]) -> list[tuple[int, int, str]]:
    """Yields the words of the text that match lexemes (stems of Postgres): start, end, lexeme."""
    stems = {_root(lexeme): lexeme for lexeme in lexemes}
    longest = max((len(stem) for stem in stems), default=0)
    found = []
    for word in _WORD.finditer(text):
        folded = unicodedata.normalize("NFKC", word[0]).casefold()  # as the words index holds it
        for size in range(min(longest, len(folded)), 0, -1):
            stem = folded[:size]
            if stem in stems and (len(folded) - size <= 5 if size > 2 else folded == stem):
                found.append((word.start(), word.end(), stems[stem]))
                break
    return found


def matched_words(hit: Hit) -> Mapping[str, float]:
    """The lexemes of the query that a hit holds, with their weights."""
    words: Mapping[str, float] = hit.explanation.get("arms", {}).get("lexical", {}).get("words", {})
    return words


def explanation_sentence(hit: Hit, query: str = "", names: Mapping[int, str] | None = None) -> str:
    """The explanation as a sentence, with words as they were typed and other memories by their names."""
    return sentence(hit.explanation, _spellings(hit, query), names)


def reason_line(hit: Hit, query: str = "", names: Mapping[int, str] | None = None) -> str:
    """The reason for a hit in one line, told as above; empty without an explanation."""
    return reason(hit.explanation, _spellings(hit, query), names)


def _spellings(hit: Hit, query: str) -> dict[str, str]:
    """Stems as they are written in the query, else as in the memory."""
    text = f"{hit.title} {hit.author or ''} {hit.body}"[:_MAX_TEXT]
    found = reversed(matches(text, matched_words(hit)))
    return {lexeme: text[begin:end].lower() for begin, end, lexeme in found} | _typed(
        query, matched_words(hit)
    )


def _typed(query: str, lexemes: Iterable[str]) -> dict[str, str]:
    """For each stem the word of the query that begins with it.

    There are few, so the nearest is meant, also if the stemmer gave it another ending (``tile`` for tiling).
    """
    words = [word[0] for word in _WORD.finditer(printable(query)[:_MAX_TEXT])]
    found = {}
    for lexeme in lexemes:
        root = lexeme[:-1] if len(lexeme) > 3 and lexeme.endswith(("e", "i")) else lexeme
        near = [word for word in words if _plain(word).startswith(root) and len(word) - len(root) <= 5]
        if near:
            found[lexeme] = min(near, key=len)
    return found


def _plain(word: str) -> str:
    """A word in lower case without accents, as stems are."""
    spread = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in spread if not unicodedata.combining(character))


def shown_text(hit: Hit) -> str:
    """The text of a hit to cut a snippet from: of a long memory the passage that is nearest to the query."""
    return f"… {hit.passage.text}" if hit.passage else hit.body


def snippet(body: str, lexemes: Mapping[str, float], width: int = 160) -> tuple[str, list[tuple[int, int]]]:
    """About ``width`` characters around the rarest matched words, on one line, and where matches stand."""
    flat = " ".join(_without_markup(printable(body[:_MAX_TEXT])).split())
    found = matches(flat[:_MAX_TEXT], lexemes)
    begin = _best_start(found, lexemes, width)
    begin, end = _at_words(flat, begin, begin + width)
    head, tail = ("… " if begin else ""), (" …" if end < len(flat) else "")
    spans = [
        (left - begin + len(head), right - begin + len(head))
        for left, right, _ in found
        if begin <= left and right <= end
    ]
    return f"{head}{flat[begin:end]}{tail}", spans


def _without_markup(text: str) -> str:
    """The text without HTML tags, addresses of Markdown links, and marks of headings, emphasis and code."""
    text = _CUT_LINK.sub("", _LINK.sub(r"\1", _TAG.sub(" ", text)))
    return _HEADING.sub("", _CODE.sub(r"\1", _STRONG.sub(r"\1", text)))


def _root(lexeme: str) -> str:
    """The stem as words begin with it: the stemmer writes ``queri`` for query and queries."""
    return lexeme[:-1] if len(lexeme) > 3 and lexeme.endswith("i") else lexeme


def _best_start(found: list[tuple[int, int, str]], lexemes: Mapping[str, float], width: int) -> int:
    best, best_worth = 0, 0.0
    for place, (left, _, _) in enumerate(found):
        inside = {lexeme for start, end, lexeme in found[place : place + 50] if end <= left + width * 3 // 4}
        worth = sum(lexemes[lexeme] for lexeme in inside)
        if worth > best_worth + 1e-9:
            best, best_worth = left, worth
    return max(0, best - width // 5) if best > width // 2 else 0


def _at_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """The range moved to where words begin and end, unless a word is very long."""
    end = min(end, len(text))
    if begin and (space := text.find(" ", max(0, begin - 1), begin + 30)) >= 0:
        begin = space + 1
    if end < len(text) and (space := text.rfind(" ", max(begin, end - 30), end + 1)) > begin:
        end = space
    return begin, end
