"""Commands about models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pgrecall.faces.cli.base import notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Option

MEGABYTE = 1_000_000

model_commands = CommandGroup("Models: making a reranker smaller and faster.")


@model_commands.add("export-onnx")
def export_onnx(
    folder: Annotated[Path, Argument(help="A cross-encoder as sentence-transformers saves it.")],
    out: Annotated[Path, Argument(help="The folder to write: new, or empty.")],
    exact: Annotated[
        bool, Option("--exact", help="Keep full precision: the same scores, four times the size.")
    ] = False,
) -> None:
    """Write a cross-encoder for ONNX Runtime, in 8-bit integers: on a CPU it reads pairs faster.

    Scores move a little by it, so compare a few real questions before and after, or give --exact.
    """
    from pgrecall.search.rerank.onnx_export import export_onnx as export

    notes().print("Exporting takes a minute or so.")
    done = export(folder, out, exact=exact)
    output().print(
        f"Wrote {done.folder}: {done.bytes_after / MEGABYTE:.0f} MB in place of "
        f"{done.bytes_before / MEGABYTE:.0f}; a sample's logit moved by {done.moved:.2f} at most.",
        soft_wrap=True,
    )
    notes().print(f"Use it: PGRECALL_RERANKER=onnx PGRECALL_RERANKER_MODEL={done.folder}")
