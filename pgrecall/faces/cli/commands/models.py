"""The commands about models."""

from __future__ import annotations

from pathlib import Path

import click

from pgrecall.faces.cli.invocation import CommandGroup
from pgrecall.faces.cli.rendering.console import Progress, notes, output

MEGABYTE = 1_000_000


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
@click.option("--exact", is_flag=True, help="Keep full precision: identical scores, four times the size.")
def export_onnx(folder: Path, out: Path, exact: bool) -> None:
    """Convert a cross-encoder to ONNX with 8-bit integers, which is faster on a CPU.

    Scores change a little, so compare a few real queries before and after, or use --exact.
    """
    from pgrecall.search.rerank.onnx_export import EXPORT_STEPS
    from pgrecall.search.rerank.onnx_export import export_onnx as export

    notes().print("Exporting takes a minute or so.")
    with Progress("exporting", "steps", EXPORT_STEPS) as bar:
        done = export(folder, out, exact=exact, progress=bar.reached)
    output().print(
        f"Wrote {done.folder}: {done.bytes_after / MEGABYTE:.0f} MB instead of "
        f"{done.bytes_before / MEGABYTE:.0f}; the logits of samples moved by {done.moved:.2f} at most."
    )
    notes().print(f"To use it: PGRECALL_RERANKER=onnx PGRECALL_RERANKER_MODEL={done.folder}")
