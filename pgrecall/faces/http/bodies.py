"""What requests hold beside the dataclasses of the package, and what answers hold that no operation names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pgrecall.models.access import Access
from pgrecall.models.memories import Draft
from pgrecall.search.rerank.scores import Scale

Reference = int | str
"""A memory: a number is an id, a text a key."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """Memories to store together, all of them or none.

    Attributes:
        drafts: the memories, in their order.
        now: the moment to take for now; None is the database's clock.
    """

    drafts: tuple[Draft, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Accesses:
    """Uses of memories.

    Attributes:
        accesses: the uses; their order does not matter.
        now: the moment to take for now; None is the database's clock.
    """

    accesses: tuple[Access, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link to make between two memories.

    Attributes:
        source: where it begins, an id or key.
        target: where it leads, an id or key.
        relation: one of links_to, next, mentions, part_of, implies, supports, contradicts.
        weight: how strong it is, above 0 and at most 100.
        now: the moment to take for now; None is the database's clock.
    """

    source: Reference
    target: Reference
    relation: str = "links_to"
    weight: float = 1.0
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A memory and the one that replaces it.

    Attributes:
        old: what is no longer so, an id or key.
        new: what replaces it, an id or key.
        now: the moment to take for now; None is the database's clock.
    """

    old: Reference
    new: Reference
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of memories that a search has shown.

    Attributes:
        search_id: the search that showed them.
        memories: their ids or keys.
        now: the moment to take for now; None is the database's clock.
    """

    search_id: int
    memories: tuple[Reference, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting's new value for the tenant.

    Attributes:
        value: null takes the tenant's own value away, so that the database's applies again.
    """

    value: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment something is done at, where it is not now.

    Attributes:
        now: the moment to take for now; None is the database's clock.
    """

    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether anything is different now."""

    changed: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """How many it was."""

    count: int


@dataclass(frozen=True, slots=True)
class EmbedderOffer:
    """An embedder that callers may use.

    Attributes:
        name: stored beside each vector.
        identity: two embedders of one identity give the same vectors; null where there is nothing to lend.
        dimensions: the length of every vector.
    """

    name: str
    identity: str | None
    dimensions: int


@dataclass(frozen=True, slots=True)
class RerankerOffer:
    """A reranker that callers may use.

    Attributes:
        name: coefficients are fitted for one name.
        identity: two rerankers of one identity give the same scores; null where there is nothing to lend.
        scale: what its model returns.
    """

    name: str
    identity: str | None
    scale: Scale


@dataclass(frozen=True, slots=True)
class Offered:
    """The models of a service.

    Attributes:
        version: of pgrecall.
        ready: whether they are loaded.
        embedder: null without one.
        reranker: null without one.
    """

    version: str
    ready: bool
    embedder: EmbedderOffer | None
    reranker: RerankerOffer | None


@dataclass(frozen=True, slots=True)
class TextsToEmbed:
    """Texts to turn into unit vectors, as Text Embeddings Inference takes them.

    Attributes:
        inputs: one text, or up to 1,000.
        normalize: vectors have unit length, so only true will do.
        truncate: long texts are cut either way.
    """

    inputs: str | tuple[str, ...]
    normalize: bool = True
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class TextsToRerank:
    """A question and texts to judge, as Text Embeddings Inference takes them.

    Attributes:
        query: the question.
        texts: up to 1,000.
        raw_scores: logits in place of probabilities.
        truncate: long texts are cut either way.
        model: where given, it must be the reranker's name.
    """

    query: str
    texts: tuple[str, ...]
    raw_scores: bool = False
    truncate: bool = True
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TextScore:
    """How well a text answers the question.

    Attributes:
        index: its place among the texts, from 0.
        score: a logit or a probability, as asked for.
    """

    index: int
    score: float
