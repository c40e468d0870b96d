"""Settings: built once at an edge (CLI, server, client), handed inwards as a value.

This is the only module that looks at the environment; every variable begins with ``PGRECALL_``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from pgrecall.errors import InvalidInput

_PREFIX = "pgrecall_"

EmbedderKind = Literal["local", "http", "hash", "none"]
RerankerKind = Literal["none", "local", "onnx", "http"]


def _default_data_dir() -> Path:
    return Path(platformdirs.user_data_dir("pgrecall"))


class Settings(BaseModel):
    """Where the memories live, whose they are, what embeds them and what reranks them.

    What is not given is read from the environment, in capitals or not.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", validate_default=True)

    database_url: SecretStr | None = Field(
        default=None, description="Postgres to use; without it an embedded server is started."
    )
    data_dir: Path = Field(
        default_factory=_default_data_dir, description="Where the embedded server keeps its data."
    )
    tenant: str = Field(
        default="default",
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00*]+$",
        description="Whose memories these are.",
    )
    pool_size: int = Field(default=8, ge=1, le=1000, description="Connections a client may hold.")
    connect_timeout: float = Field(
        default=10.0, gt=0, le=600, description="Seconds until a connection must stand."
    )
    timeout: float | None = Field(
        default=None, gt=0, le=86400, description="Seconds one call may take in Postgres; none: any."
    )
    embedder: EmbedderKind = Field(
        default="local",
        description="local: sentence-transformers; http: an OpenAI-compatible endpoint; "
        "hash: deterministic, for tests; none: words and names only.",
    )
    embedder_model: str | None = Field(
        default=None, description="A local folder or model name; without it the installed MiniLM."
    )
    # An address may hold a login, so it is not shown either.
    embedder_url: str | None = Field(default=None, repr=False, description="Base URL of the HTTP embedder.")
    embedder_key: SecretStr | None = Field(default=None, description="Bearer key of the HTTP embedder.")
    embedder_dimensions: int | None = Field(
        default=None, ge=1, le=4000, description="Of its vectors; without it what the embedder says itself."
    )
    embedder_timeout: float = Field(default=30.0, gt=0, le=600, description="Seconds a request may take.")
    embedder_batch: int = Field(default=64, ge=1, le=2048, description="Texts in one embedding call.")
    reranker: RerankerKind = Field(
        default="none",
        description="local: a cross-encoder of sentence-transformers; onnx: one under ONNX Runtime; "
        "http: an endpoint; none: the fused order stands.",
    )
    reranker_model: str | None = Field(
        default=None, description="A local folder or model name; onnx needs a folder, cohere a name."
    )
    reranker_url: str | None = Field(default=None, repr=False, description="Base URL of the HTTP reranker.")
    reranker_key: SecretStr | None = Field(default=None, description="Bearer key of the HTTP reranker.")
    reranker_form: Literal["cohere", "tei"] = Field(default="cohere", description="What the endpoint speaks.")
    reranker_pairs: int = Field(default=50, ge=1, le=1000, description="Candidates that are read at most.")
    reranker_tokens: int = Field(
        default=512, ge=16, le=32768, description="Tokens of a pair that a local reranker reads."
    )
    reranker_precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="Of a local reranker's numbers; auto: what is quicker on this machine."
    )
    reranker_deadline: float = Field(default=2.0, gt=0, le=600, description="Seconds for all the pairs.")
    reranker_scale: Literal["logit", "probability"] | None = Field(
        default=None, description="What the model returns; None is probability for cohere, else logit."
    )
    server: str | None = Field(
        default=None,
        repr=False,
        description="Service whose models the command line borrows; off: none; without it one that runs "
        "over the same data directory.",
    )
    server_key: SecretStr | None = Field(default=None, description="Key of a service named by its URL.")
    role_password: SecretStr | None = Field(
        default=None, description="The password that `role create` gives a role."
    )
    allow_superuser: bool = Field(
        default=False, description="Let serve, worker and mcp run as a superuser or past row security."
    )
    http_host: str = Field(default="127.0.0.1", min_length=1, description="Where `serve` listens.")
    http_port: int = Field(default=8766, ge=0, le=65535, description="Its port; 0 takes a free one.")
    http_concurrency: int | None = Field(
        default=None, ge=1, le=10_000, description="Requests worked on at once; none: as many as pool_size."
    )
    http_queue: int = Field(default=64, ge=0, le=100_000, description="Requests that may wait beyond these.")
    http_body_bytes: int = Field(default=8_388_608, ge=1024, le=2**31, description="Largest request.")
    http_patience: float = Field(
        default=10.0, gt=0, le=600, description="Seconds a request may wait, and a client may dawdle."
    )

    def __init__(self, **given: Any) -> None:
        super().__init__(**(_environment() | given))


def _environment() -> dict[str, str]:
    """The variables that are ours, named as the settings are."""
    named = ((name.lower(), value) for name, value in os.environ.items())
    return {name.removeprefix(_PREFIX): value for name, value in named if name.startswith(_PREFIX)}


def load_settings(**overrides: object) -> Settings:
    """Settings from the environment; ``overrides`` that are not None win.

    Raises:
        InvalidInput: a variable or an override has a value that cannot be used; names each.
    """
    given: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = "; ".join(
            f"PGRECALL_{'_'.join(str(part) for part in item['loc']).upper()}: {item['msg']}"
            for item in error.errors()
        )
        raise InvalidInput(
            f"These settings cannot be used: {wrong}.", hint="Correct them in the environment or the call."
        ) from error
