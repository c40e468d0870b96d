"""Settings from the environment: built once by a command, a server or a client, and passed on as a value.

No other module reads the environment. The variable of each setting starts with ``PGRECALL_``.
"""

from __future__ import annotations

import os
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from pgrecall.errors import InvalidInput
from pgrecall.setting_types import (
    Boolean,
    Choice,
    FolderPath,
    FolderPaths,
    Integer,
    PositiveNumber,
    PublicUrl,
    Secret,
    SecretText,
    SettingType,
    Share,
    Tenants,
    Text,
    misspelt,
)

_PREFIX = "pgrecall_"

EmbedderKind = Literal["local", "http", "hash", "none"]
RerankerKind = Literal["none", "local", "onnx", "http", "llm"]
RerankerForm = Literal["cohere", "tei"]
EmbedderPrecision = Literal["float32", "int8"]
Precision = Literal["auto", "float32", "bfloat16"]
Scale = Literal["logit", "probability"]
PreparedStatements = Literal["auto", "on", "off"]


def _default_data_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("pgrecall"))


def _setting(default: Any, kind: SettingType, about: str, *, shown: bool = True) -> Any:
    """A field with its default, or the function that returns it, its type and what it is for."""
    metadata = {"type": kind, "about": about}
    if callable(default):
        return field(default_factory=default, repr=shown, metadata=metadata)
    return field(default=default, repr=shown, metadata=metadata)


@dataclass(frozen=True, init=False)
class Settings:
    """The database, the tenant, the embedder, the reranker and the service.

    Settings that are not given are read from the environment, in upper or lower case. Use
    ``dataclasses.replace`` to change some of them.

    Raises:
        InvalidInput: a value is invalid, or a variable is misspelt; names every such variable.
    """

    database_url: Secret | None = _setting(
        None, SecretText(), "URL of the Postgres database; if unset, an embedded server is started."
    )
    cells: Secret | None = _setting(
        None, SecretText(),
        "URL of the directory of cells, which knows the database of each tenant; instead of DATABASE_URL.",
    )  # fmt: skip
    replica_url: Secret | None = _setting(
        None,
        SecretText(),
        "URL of a standby of DATABASE_URL, which answers searches; see docs/howto/scale.md.",
    )
    replica_lag: float = _setting(
        10.0,
        PositiveNumber(86400),
        "Seconds that a replica may lag; beyond them the primary answers searches.",
    )
    data_dir: Path = _setting(_default_data_dir, FolderPath(), "Folder of the embedded server's data.")
    tenant: str = _setting("default", Text(1, 200, without="\0*"), "Tenant whose memories to use.")
    also_reads: tuple[str, ...] | None = _setting(
        None, Tenants(), "Shared tenants to search as well, at most 10, separated by commas."
    )
    pool_size: int = _setting(8, Integer(1, 1000), "Maximum number of connections of one client.")
    connect_timeout: float = _setting(10.0, PositiveNumber(600), "Seconds to wait for a connection.")
    timeout: float | None = _setting(
        None, PositiveNumber(86400), "Seconds one call may take in Postgres; unlimited if unset."
    )
    prepared_statements: PreparedStatements = _setting(
        "auto",
        Choice(get_args(PreparedStatements)),
        "Prepare statements on the server. auto: not through a connection pooler; on: also through one, "
        "which then has to track them.",
    )
    embedder: EmbedderKind = _setting(
        "local",
        Choice(get_args(EmbedderKind)),
        "local: a model on this machine; http: an OpenAI-compatible endpoint; "
        "hash: deterministic, for tests; none: search by words and names only.",
    )
    embedder_model: str | None = _setting(
        None,
        Text(),
        "Folder or name of the model; if unset, all-MiniLM-L6-v2. multilingual-e5-small is for other "
        "languages. Others need pgrecall[torch].",
    )
    # An address may hold a login, so it is not shown either.
    embedder_url: str | None = _setting(None, Text(), "Base URL of the HTTP embedder.", shown=False)
    embedder_key: Secret | None = _setting(None, SecretText(), "Bearer key of the HTTP embedder.")
    embedder_dimensions: int | None = _setting(
        None, Integer(1, 4000), "Dimensions of the vectors; if unset, the embedder reports them."
    )
    embedder_shorten: bool = _setting(
        False,
        Boolean(),
        "Ask the HTTP embedder for vectors of PGRECALL_EMBEDDER_DIMENSIONS, as OpenAI's can.",
    )
    embedder_query_prefix: str | None = _setting(
        None, Text(), "Text put before each query, such as `query: ` for E5."
    )
    embedder_memory_prefix: str | None = _setting(
        None, Text(), "Text put before each memory, such as `passage: ` for E5."
    )
    embedder_query_type: str | None = _setting(
        None, Text(), "input_type sent to the HTTP embedder with queries: `search_query` for Cohere."
    )
    embedder_memory_type: str | None = _setting(
        None, Text(), "input_type sent to the HTTP embedder with memories: `search_document` for Cohere."
    )
    embedder_precision: EmbedderPrecision = _setting(
        "float32",
        Choice(get_args(EmbedderPrecision)),
        "Number format of the default model; int8 is faster and less exact, and its vectors differ.",
    )
    embedder_timeout: float = _setting(30.0, PositiveNumber(600), "Seconds one embedding request may take.")
    embedder_batch: int = _setting(64, Integer(1, 2048), "Texts in one embedding call.")
    reranker: RerankerKind = _setting(
        "none",
        Choice(get_args(RerankerKind)),
        "local: a cross-encoder of sentence-transformers; onnx: one under ONNX Runtime; "
        "http: an endpoint; llm: the language model; none: no reranking.",
    )
    reranker_model: str | None = _setting(
        None, Text(), "Folder or name of the model; onnx needs a folder, cohere a name."
    )
    reranker_url: str | None = _setting(None, Text(), "Base URL of the HTTP reranker.", shown=False)
    reranker_key: Secret | None = _setting(None, SecretText(), "Bearer key of the HTTP reranker.")
    reranker_form: RerankerForm = _setting("cohere", Choice(get_args(RerankerForm)), "API of its endpoint.")
    reranker_pairs: int = _setting(50, Integer(1, 1000), "Maximum number of candidates to rerank.")
    reranker_tokens: int = _setting(
        512,
        Integer(16, 32768),
        "Tokens of a query and a memory together that a local reranker reads; the rest is truncated.",
    )
    reranker_precision: Precision = _setting(
        "auto", Choice(get_args(Precision)), "Number format of a local reranker; auto: the faster one here."
    )
    reranker_deadline: float | None = _setting(
        None, PositiveNumber(600), "Seconds for reranking; if unset, 2, and LLM_TIMEOUT for llm."
    )
    reranker_scale: Scale | None = _setting(
        None, Choice(get_args(Scale)), "Scale of its scores; if unset, probability for cohere, else logit."
    )
    llm_url: str | None = _setting(None, Text(), "Base URL of a model's chat completions.", shown=False)
    llm_model: str | None = _setting(None, Text(), "Name of the language model.")
    llm_key: Secret | None = _setting(None, SecretText(), "Bearer key of the language model.")
    llm_timeout: float = _setting(20.0, PositiveNumber(600), "Seconds that one of its answers may take.")
    llm_calls: int = _setting(60, Integer(1, 100_000), "Questions that one process may ask it a minute.")
    search_plan: bool = _setting(False, Boolean(), "Let the language model plan searches by default.")
    search_rerank: bool = _setting(False, Boolean(), "Let the reranker read searches by default.")
    context_directives: float = _setting(0.2, Share(), "Largest share of a context for directives.")
    context_state: float = _setting(0.0, Share(), "Share of a context for what changed lately.")
    role_password: Secret | None = _setting(None, SecretText(), "Password of a role that is created.")
    allow_superuser: bool = _setting(
        False,
        Boolean(),
        "Allow serve, worker and mcp to run as a superuser or with a role that bypasses row security.",
    )
    alert_command: str | None = _setting(
        None,
        Text(1),
        "Command that the worker runs when an alarm begins or ends; the alert is on its input.",
        shown=False,
    )
    alert_url: Secret | None = _setting(
        None, SecretText(), "URL that the worker posts to, as JSON, when an alarm begins or ends."
    )
    alert_timeout: float = _setting(10.0, PositiveNumber(60), "Seconds an alert may take.")
    backup_dir: Path | None = _setting(
        None, FolderPath(), "Folder for the backups that the worker makes; if unset, it makes none."
    )
    backup_keep: int = _setting(
        7, Integer(1, 10_000), "Backups to keep; the worker deletes older ones of the same database."
    )
    backup_url: Secret | None = _setting(
        None,
        SecretText(),
        "URL of DATABASE_URL's database for backups, as a role that may read everything; if unset, "
        "DATABASE_URL itself.",
    )
    watch: tuple[Path, ...] | None = _setting(
        None,
        FolderPaths(),
        "Folders of notes that the worker keeps in step for the tenant, as `import --watch` does; several "
        "are separated as in PATH.",
    )
    http_host: str = _setting("127.0.0.1", Text(1), "Address that `serve` listens on.")
    http_port: int = _setting(8766, Integer(0, 65535), "Port that `serve` listens on; 0: any free port.")
    http_concurrency: int | None = _setting(
        None, Integer(1, 10_000), "Requests handled at a time; if unset, as many as pool_size."
    )
    http_queue: int = _setting(64, Integer(0, 100_000), "Requests that may wait; more are refused.")
    http_share: int | None = _setting(
        None,
        Integer(1, 10_000),
        "Requests of one tenant handled at a time, where there may be several tenants; if unset, half of "
        "http_concurrency or of pool_size, whichever is less.",
    )
    http_body_bytes: int = _setting(8_388_608, Integer(1024, 2**31), "Largest request body in bytes.")
    http_tenant_bytes: int = _setting(
        67_108_864,
        Integer(1024, 2**40),
        "Bytes of memory for the request bodies of one tenant together; a single request may take more.",
    )
    oauth_url: str | None = _setting(None, PublicUrl(), "Public address of `serve`, for OAuth at `/mcp`.")
    http_timeout: float = _setting(
        10.0,
        PositiveNumber(600),
        "Seconds a request may wait for its turn, and a client may take to send it.",
    )

    def __init__(self, **given: Any) -> None:
        wrong = misspelt(found := _environment() | given, [each.name for each in fields(self)])
        for each in fields(self):
            try:
                vars(self)[each.name] = _value_of(each, found)
            except ValueError as error:
                wrong.append(f"PGRECALL_{each.name.upper()} {error}")
        if wrong:
            raise InvalidInput(
                f"These settings cannot be used: {'; '.join(wrong)}.",
                hint="Correct them in the environment or the call.",
            )

    @property
    def reranking_seconds(self) -> float:
        """Seconds for reranking, if a search sets no limit."""
        usual = self.llm_timeout if self.reranker == "llm" else 2.0
        return usual if self.reranker_deadline is None else self.reranker_deadline


def _value_of(each: Field[Any], found: dict[str, Any]) -> Any:
    """The parsed value of a setting, or its default."""
    if each.name not in found:
        return each.default if each.default_factory is MISSING else each.default_factory()
    value = found[each.name]
    return None if value is None and each.default is None else each.metadata["type"].parse(value)


def set_for_libraries(name: str, value: str) -> None:
    """Sets a variable that a library reads when it is imported, unless it is set."""
    os.environ.setdefault(name, value)


def environment_variables() -> dict[str, str]:
    """All variables of the environment, for a program that passes some on."""
    return dict(os.environ)


def _environment() -> dict[str, str]:
    """The variables of pgrecall, by the name of their setting."""
    named = ((name.lower(), value) for name, value in os.environ.items())
    return {name.removeprefix(_PREFIX): value for name, value in named if name.startswith(_PREFIX)}


def login_shell() -> str:
    """Name of the user's shell; empty if unknown."""
    return Path(os.environ.get("SHELL", "")).name


def cpu_threads() -> int:
    """Threads for a model on the CPU: OMP_NUM_THREADS, else the cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "").strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_settings(**overrides: object) -> Settings:
    """Settings from the environment; ``overrides`` that are not None take precedence.

    Raises:
        InvalidInput: a variable or an override is invalid; names each.
    """
    return Settings(**{name: value for name, value in overrides.items() if value is not None})
