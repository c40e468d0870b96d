"""Batches of an import: items divided into portions, sorted and counted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pgrecall.errors import InvalidInput
from pgrecall.nouns.imports.report import ImportReport, Problem, Skipped
from pgrecall.nouns.memories.models import Draft, Remembered
from pgrecall.nouns.memories.not_given import given
from pgrecall.nouns.memories.remember import KnownContent, Rejected

EMBEDDED_BATCH = 64
"""Drafts an import embeds and commits at a time."""

UNREAD = "characters at the end of very long texts, which were stored but not embedded"

PLAIN_BATCH, PLAIN_CHARACTERS = 500, 2_000_000
"""Drafts that need no embedding: so many at a time, fewer where they are long."""

REPEATED = "records without a key that repeat one before them"


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one batch of drafts."""

    remembered: tuple[Remembered, ...] = ()
    problems: tuple[Problem, ...] = ()
    import_id: int | None = None

    @classmethod
    def of(
        cls, rows: Iterable[Remembered | Rejected], drafts: Sequence[Draft], import_id: int | None = None
    ) -> Stored:
        """From what ``recall.remember_many`` returned for these drafts."""
        rows = list(rows)
        return cls(
            tuple(row for row in rows if isinstance(row, Remembered)),
            tuple(_problem_of(row, drafts) for row in rows if isinstance(row, Rejected)),
            import_id,
        )


class Portions:
    """What an importer reads, so many at a time; fewer where they are long, and where a key comes again:
    what a source says later replaces what it said before.
    """

    def __init__(self, items: Iterable[Draft | Problem | Skipped], *, embedded: bool) -> None:
        self._unread = iter(items)
        self._most = EMBEDDED_BATCH if embedded else PLAIN_BATCH
        self._held: Draft | Problem | Skipped | None = None
        self._made: set[bytes] = set()

    def next(self) -> list[Draft | Problem | Skipped]:
        """The next portion; empty at the end."""
        portion: list[Draft | Problem | Skipped] = []
        keys: set[str] = set()
        characters = 0
        while len(portion) < self._most and characters < PLAIN_CHARACTERS:
            item = self._held or self._with_key(next(self._unread, None))
            self._held = None
            if item is None:
                break
            if isinstance(item, Draft):
                if item.key in keys:
                    self._held = item
                    break
                if item.key is not None:
                    keys.add(item.key)
                characters += len(item.body)
            portion.append(item)
        return portion

    def _with_key(self, item: Draft | Problem | Skipped | None) -> Draft | Problem | Skipped | None:
        """A draft without a key gets one from its text, so that a second import finds what the first stored.

        One that says the same as one before is counted: with other tags, each would change the other's.
        """
        if not isinstance(item, Draft) or item.key is not None:
            return item
        told = (item.title, item.body, item.source, item.author, item.session_id, item.occurred_at)
        digest = hashlib.sha256("\x1f".join(map(str, told)).encode("utf-8", "replace")).digest()[:8]
        if digest in self._made:
            return Skipped(REPEATED, 1)
        self._made.add(digest)
        return replace(item, key=f"record-{digest.hex()}")


def with_kept_title(draft: Draft, known: dict[str, KnownContent]) -> Draft:
    """A draft with the title that the memory with its key keeps, if it gives none."""
    if given(draft.title):
        return draft
    return replace(draft, title=known[draft.key].title if draft.key in known else "")


def needs_embedding(draft: Draft, known: dict[str, KnownContent]) -> bool:
    """Whether the text of a draft is new, changed, or has no vector yet."""
    there = known.get(draft.key) if draft.key is not None else None
    return there is None or not there.embedded or there.content_hash != content_hash(draft)


def content_hash(draft: Draft) -> str:
    """The same digest that the generated column ``content_hash`` holds."""
    text = f"{draft.title}\x1f{draft.body}".encode(
        errors="surrogatepass"
    )  # which Postgres refuses in a sentence
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def keys_of_others(drafts: Iterable[Draft], known: dict[str, KnownContent]) -> list[Problem]:
    """A problem for each draft with a key that belongs to another source; it is not stored."""
    return [
        Problem(
            str(draft.key),
            f"this key belongs to {known[draft.key].source or 'a memory made by hand'}; "
            "import it with a prefix to keep both, or with the source of that one to continue it",
        )
        for draft in drafts
        if draft.key in known and known[draft.key].source != draft.source
    ]


def add_batch(
    report: ImportReport, stored: Stored, problems: Sequence[Problem], skipped: Sequence[Skipped]
) -> ImportReport:
    """The report with one more batch counted."""
    outcomes = [row.outcome for row in stored.remembered]
    left_out = Counter({UNREAD: sum(row.unread for row in stored.remembered)})
    places: dict[str, tuple[str, ...]] = {}
    for one in (*report.skipped, *skipped):
        left_out[one.what] += one.count
        places[one.what] = (*places.get(one.what, ()), *one.places)
    return replace(
        report,
        created=report.created + outcomes.count("created"),
        updated=report.updated + outcomes.count("updated") + outcomes.count("revived"),
        unchanged=report.unchanged + outcomes.count("unchanged"),
        problems=(*report.problems, *problems, *stored.problems),
        import_id=stored.import_id or report.import_id,
        skipped=tuple(
            Skipped(what, count, places.get(what, ())) for what, count in left_out.most_common() if count
        ),
    )


def refuse_problems(problems: Sequence[Problem]) -> None:
    """Stops a strict import at its first problem.

    Raises:
        InvalidInput: there is one.
    """
    if problems:
        raise InvalidInput(f"{problems[0].where}: {problems[0].reason.rstrip('.')}.")


def _problem_of(rejected: Rejected, drafts: Sequence[Draft]) -> Problem:
    """A rejected draft as a problem that names it."""
    draft = drafts[rejected.position]
    return Problem(draft.key or draft.title or f"the memory that begins {draft.body[:60]!r}", rejected.reason)
