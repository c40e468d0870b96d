"""Settings: built once at an edge (CLI, server, client), handed inwards as a value.

This is the only module that looks at the environment; every variable of a setting begins with ``PGRECALL_``.
"""

from __future__ import annotations

import os
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from pgrecall.errors import InvalidInput
from pgrecall.setting_rules import Folder, OneOf, Positive, Rule, Secret, SecretText, Text, Whole, YesNo

_PREFIX = "pgrecall_"
_OF_TERMINALS = ("TERM", "COLORTERM", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")

EmbedderKind = Literal["local", "http", "hash", "none"]
RerankerKind = Literal["none", "local", "onnx", "http"]
RerankerForm = Literal["cohere", "tei"]
Precision = Literal["auto", "float32", "bfloat16"]
Scale = Literal["logit", "probability"]


def _default_data_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("pgrecall"))


def _by(rule: Rule, about: str) -> dict[str, Any]:
    """What is known of a setting: how it is read, and what it is for."""
    return {"rule": rule, "about": about}


@dataclass(frozen=True, init=False)
class Settings:
    """Where the memories live, whose they are, what embeds them and what reranks them.

    What is not given is read from the environment, in capitals or not. ``dataclasses.replace`` makes settings
    that differ in some of them.

    Raises:
        InvalidInput: a value cannot be used; names each such variable.
    """

    database_url: Secret | None = field(
        default=None, metadata=_by(SecretText(), "Postgres to use; without it an embedded server is started.")
    )
    data_dir: Path = field(
        default_factory=_default_data_dir, metadata=_by(Folder(), "Where the embedded server keeps its data.")
    )
    tenant: str = field(
        default="default", metadata=_by(Text(1, 200, without="\0*"), "Whose memories these are.")
    )
    pool_size: int = field(default=8, metadata=_by(Whole(1, 1000), "Connections a client may hold."))
    connect_timeout: float = field(
        default=10.0, metadata=_by(Positive(600), "Seconds until a connection must stand.")
    )
    timeout: float | None = field(
        default=None, metadata=_by(Positive(86400), "Seconds one call may take in Postgres; none: any.")
    )
    embedder: EmbedderKind = field(
        default="local",
        metadata=_by(
            OneOf(get_args(EmbedderKind)),
            "local: sentence-transformers; http: an OpenAI-compatible endpoint; "
            "hash: deterministic, for tests; none: words and names only.",
        ),
    )
    embedder_model: str | None = field(
        default=None, metadata=_by(Text(), "A local folder or model name; without it the installed MiniLM.")
    )
    # An address may hold a login, so it is not shown either.
    embedder_url: str | None = field(
        default=None, repr=False, metadata=_by(Text(), "Base URL of the HTTP embedder.")
    )
    embedder_key: Secret | None = field(
        default=None, metadata=_by(SecretText(), "Bearer key of the HTTP embedder.")
    )
    embedder_dimensions: int | None = field(
        default=None,
        metadata=_by(Whole(1, 4000), "Of its vectors; without it what the embedder says itself."),
    )
    embedder_timeout: float = field(default=30.0, metadata=_by(Positive(600), "Seconds a request may take."))
    embedder_batch: int = field(default=64, metadata=_by(Whole(1, 2048), "Texts in one embedding call."))
    reranker: RerankerKind = field(
        default="none",
        metadata=_by(
            OneOf(get_args(RerankerKind)),
            "local: a cross-encoder of sentence-transformers; onnx: one under ONNX Runtime; "
            "http: an endpoint; none: the fused order stands.",
        ),
    )
    reranker_model: str | None = field(
        default=None,
        metadata=_by(Text(), "A local folder or model name; onnx needs a folder, cohere a name."),
    )
    reranker_url: str | None = field(
        default=None, repr=False, metadata=_by(Text(), "Base URL of the HTTP reranker.")
    )
    reranker_key: Secret | None = field(
        default=None, metadata=_by(SecretText(), "Bearer key of the HTTP reranker.")
    )
    reranker_form: RerankerForm = field(
        default="cohere", metadata=_by(OneOf(get_args(RerankerForm)), "What the endpoint speaks.")
    )
    reranker_pairs: int = field(default=50, metadata=_by(Whole(1, 1000), "Candidates that are read at most."))
    reranker_tokens: int = field(
        default=512, metadata=_by(Whole(16, 32768), "Tokens of a pair that a local reranker reads.")
    )
    reranker_precision: Precision = field(
        default="auto",
        metadata=_by(
            OneOf(get_args(Precision)),
            "Of a local reranker's numbers; auto: what is quicker on this machine.",
        ),
    )
    reranker_deadline: float = field(default=2.0, metadata=_by(Positive(600), "Seconds for all the pairs."))
    reranker_scale: Scale | None = field(
        default=None,
        metadata=_by(
            OneOf(get_args(Scale)), "What the model returns; None is probability for cohere, else logit."
        ),
    )
    server: str | None = field(
        default=None,
        repr=False,
        metadata=_by(
            Text(),
            "Service whose models the command line borrows; off: none; without it one that runs "
            "over the same data directory.",
        ),
    )
    server_key: Secret | None = field(
        default=None, metadata=_by(SecretText(), "Key of a service named by its URL.")
    )
    role_password: Secret | None = field(
        default=None, metadata=_by(SecretText(), "The password that `roles create` gives a role.")
    )
    allow_superuser: bool = field(
        default=False,
        metadata=_by(YesNo(), "Let serve, worker and mcp run as a superuser or past row security."),
    )
    http_host: str = field(default="127.0.0.1", metadata=_by(Text(1), "Where `serve` listens."))
    http_port: int = field(default=8766, metadata=_by(Whole(0, 65535), "Its port; 0 takes a free one."))
    http_concurrency: int | None = field(
        default=None,
        metadata=_by(Whole(1, 10_000), "Requests worked on at once; none: as many as pool_size."),
    )
    http_queue: int = field(
        default=64, metadata=_by(Whole(0, 100_000), "Requests that may wait beyond these.")
    )
    http_body_bytes: int = field(default=8_388_608, metadata=_by(Whole(1024, 2**31), "Largest request."))
    http_patience: float = field(
        default=10.0, metadata=_by(Positive(600), "Seconds a request may wait, and a client may dawdle.")
    )

    def __init__(self, **given: Any) -> None:
        found, wrong = _environment() | given, []
        for each in fields(self):
            try:
                vars(self)[each.name] = _read(each, found)
            except ValueError as error:
                wrong.append(f"PGRECALL_{each.name.upper()} {error}")
        if wrong:
            raise InvalidInput(
                f"These settings cannot be used: {'; '.join(wrong)}.",
                hint="Correct them in the environment or the call.",
            )


def _read(each: Field[Any], found: dict[str, Any]) -> Any:
    """The value of a field: what was found, by its rule, or its default."""
    if each.name not in found:
        return each.default if each.default_factory is MISSING else each.default_factory()
    value = found[each.name]
    return None if value is None and each.default is None else each.metadata["rule"].read(value)


def _environment() -> dict[str, str]:
    """The variables that are ours, named as the settings are."""
    named = ((name.lower(), value) for name, value in os.environ.items())
    return {name.removeprefix(_PREFIX): value for name, value in named if name.startswith(_PREFIX)}


def login_shell() -> str:
    """The name of the shell that whoever runs this uses; empty where nobody knows."""
    return Path(os.environ.get("SHELL", "")).name


def terminal_variables() -> dict[str, str]:
    """What is said of the terminal to whatever program writes to it; without those that nobody has set."""
    return {name: os.environ[name] for name in _OF_TERMINALS if name in os.environ}


def load_settings(**overrides: object) -> Settings:
    """Settings from the environment; ``overrides`` that are not None win.

    Raises:
        InvalidInput: a variable or an override has a value that cannot be used; names each.
    """
    return Settings(**{name: value for name, value in overrides.items() if value is not None})
