"""Models: the commands about them, and the models that commands borrow from a running service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pgrecall import __version__
from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.console import notes, output
from pgrecall.faces.cli.invocation import CommandGroup
from pgrecall.search.lending.service_client import (
    ModelOffer,
    ModelService,
    ModelServiceError,
    embedder_identity,
    offers_same_embedder,
    offers_same_reranker,
    read_offer,
    reranker_identity,
)
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.search.embed.embedder import Embedder
    from pgrecall.search.lending.service_models import Report
    from pgrecall.search.rerank.reranker import Reranker

MEGABYTE = 1_000_000
OFF = "off"
FOUND_TIMEOUT = 0.5
"""Seconds for a service that was found to describe its models: a busier one is no help."""

NAMED_TIMEOUT = 3.0


@click.group("models", cls=CommandGroup)
def models() -> None:
    """Prepare models."""


@models.command("export-onnx")
@click.argument(
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Cross-encoder of sentence-transformers.",
)
@click.argument("out", type=click.Path(path_type=Path), metavar="OUT", help="Folder to write: new, or empty.")
@click.option("--exact", is_flag=True, help="Keep full precision: the same scores, four times the size.")
def export_onnx(folder: Path, out: Path, exact: bool) -> None:
    """Convert a cross-encoder to ONNX with 8-bit integers, which is faster on a CPU.

    Scores change a little, so compare a few real queries before and after, or use --exact.
    """
    from pgrecall.search.rerank.onnx_export import export_onnx as export

    notes().print("Exporting takes a minute or so.")
    done = export(folder, out, exact=exact)
    output().print(
        f"Wrote {done.folder}: {done.bytes_after / MEGABYTE:.0f} MB instead of "
        f"{done.bytes_before / MEGABYTE:.0f}; the logits of samples moved by {done.moved:.2f} at most."
    )
    notes().print(f"To use it: PGRECALL_RERANKER=onnx PGRECALL_RERANKER_MODEL={done.folder}")


@dataclass(slots=True)
class Lent:
    """The models that are borrowed; None where the command loads its own.

    ``said`` has the sentences that are printed with ``--verbose``.
    """

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    said: list[str] = field(default_factory=list)


def borrowed_models(settings: Settings, warn: Report) -> Lent:
    """Borrows models that these settings ask for.

    Args:
        settings: the command's settings; they may name a service.
        warn: called with a sentence about each failure of a service that the settings name.

    Raises:
        InvalidInput: the setting is not an address.
    """
    lent = Lent()
    if settings.server == OFF or not (embedder_identity(settings) or reranker_identity(settings)):
        return lent
    named = bool(settings.server)

    def tell(sentence: str) -> None:
        lent.said.append(sentence)
        if named:
            warn(sentence)

    for lender in _lenders(settings):
        try:
            offer = read_offer(lender, NAMED_TIMEOUT if named else FOUND_TIMEOUT)
            _require_usable(offer)
        except ModelServiceError as error:
            tell(f"The service at {lender.shown} {error}; models are loaded here instead.")
            continue
        _borrow(settings, lender, offer, lent, tell)
        if lent.embedder or lent.reranker:
            break
        tell(f"The service at {lender.shown} has other models; these are loaded here instead.")
    return lent


def _borrow(settings: Settings, lender: ModelService, offer: ModelOffer, lent: Lent, tell: Report) -> None:
    from pgrecall.search.lending.service_models import ServiceEmbedder, ServiceReranker

    if offer.embedder is not None and offers_same_embedder(settings, offer):
        lent.embedder = ServiceEmbedder(lender, offer.embedder, settings, tell)
        lent.said.append(f"The embedder {lent.embedder.name} is that of the service at {lender.shown}.")
    if offer.reranker is not None and offers_same_reranker(settings, offer):
        lent.reranker = ServiceReranker(lender, offer.reranker, settings, tell)
        lent.said.append(f"The reranker {lent.reranker.name} is that of the service at {lender.shown}.")


def _require_usable(offer: ModelOffer) -> None:
    if offer.version != __version__:
        raise ModelServiceError(f"is pgrecall {offer.version}, this is {__version__}")
    if offer.ready is not True:
        raise ModelServiceError("is still loading its models")


def _lenders(settings: Settings) -> Iterator[ModelService]:
    if settings.server:
        key = settings.server_key.get_secret_value().strip() if settings.server_key else None
        yield ModelService(settings.server.strip(), key or None)
        return
    from pgrecall.faces.cli.service_announcement import announcements

    mine = embedder_identity(settings), reranker_identity(settings)
    for found in announcements(settings.data_dir):
        same = any(one is not None and one in (found.embedder, found.reranker) for one in mine)
        if found.version == __version__ and same:
            with suppress(InvalidInput):  # not an address, so not written by our service
                yield ModelService(found.url, found.token)
