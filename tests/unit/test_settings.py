"""Settings as the environment writes them: what each rule reads, and what is refused."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from pgrecall import InvalidInput, Settings
from pgrecall.setting_types import Secret


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("pool_size", "12", 12),
        ("pool_size", 12.0, 12),
        ("timeout", "2.5", 2.5),
        ("timeout", None, None),
        ("embedder", "http", "http"),
        ("allow_superuser", "Yes", True),
        ("allow_superuser", "off", False),
        ("data_dir", "/tmp/x", Path("/tmp/x")),
        ("watch", f"/tmp/x{os.pathsep}/tmp/y", (Path("/tmp/x"), Path("/tmp/y"))),
        ("watch", [Path("/tmp/x")], (Path("/tmp/x"),)),
        ("watch", "", ()),
        ("embedder_key", SecretStr("hidden"), Secret("hidden")),
        ("embedder_model", "", ""),
    ],
)
def test_a_setting_is_read(monkeypatch: pytest.MonkeyPatch, name: str, given: Any, read: object) -> None:
    assert getattr(Settings(**{name: given}), name) == read
    if isinstance(given, str):
        monkeypatch.setenv(f"PGRECALL_{name.upper()}", given)
        assert getattr(Settings(), name) == read


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("pool_size", "many"),
        ("pool_size", "0"),
        ("pool_size", 1.5),
        ("pool_size", None),
        ("http_port", "65536"),
        ("timeout", "0"),
        ("timeout", math.nan),
        ("timeout", "inf"),
        ("embedder", "Local"),
        ("allow_superuser", "perhaps"),
        ("tenant", ""),
        ("tenant", "a*"),
        ("tenant", "x" * 201),
        ("http_host", ""),
        ("database_url", 7),
        ("data_dir", 7),
        ("watch", "notes"),
        ("watch", 7),
        ("watch", [7]),
        ("data_dir", "~nobody-of-this-name/x"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name_alone(name: str, given: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"PGRECALL_{name.upper()} (must|names) [a-z ]+") as refused:
        Settings(**{name: given, "embedder_key": "hidden"})
    told = str(refused.value)
    assert "hidden" not in told
    assert len(str(given)) < 4 or str(given) not in told


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidInput, match=r"PGRECALL_TENANT .*; PGRECALL_POOL_SIZE "):
        Settings(pool_size="x", tenant="*")


def test_settings_that_differ_are_checked_and_take_nothing_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(timeout=3)
    monkeypatch.setenv("PGRECALL_POOL_SIZE", "5")
    monkeypatch.setenv("PGRECALL_TIMEOUT", "5")
    assert replace(settings, tenant="b") == Settings(timeout=3, pool_size=8, tenant="b")
    assert replace(settings, timeout=None).timeout is None
    with pytest.raises(InvalidInput):
        replace(settings, pool_size=0)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PGRECALL_DATABSE_URL", "PGRECALL_DATABASE_URL"), ("pgrecall_database", "PGRECALL_DATABASE_URL"),
        ("PGRECALL_EMBEDDING_MODEL", "PGRECALL_EMBEDDER_MODEL"), ("PGRECALL_TENANTS", "PGRECALL_TENANT"),
    ],
)  # fmt: skip
def test_a_misspelt_variable_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, meant: str) -> None:
    for variable in ("PGRECALL_DATABASE_URL", "PGRECALL_EMBEDDER_MODEL", "PGRECALL_TENANT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name, "x")
    with pytest.raises(InvalidInput) as refused:
        Settings()
    assert refused.value.message == (
        f"These settings cannot be used: {name.upper()} (do you mean {meant}?)."
    )  # fmt: skip
    monkeypatch.setenv(meant, "y")  # which says that the other belongs to something else
    Settings()


@pytest.mark.parametrize(
    "name",
    [
        "KEY",
        "SERVICE_URL",
        "TEST_SERVER",
        "APP_PASSWORD",
        "WORKER_PASSWORD",
        "COMPLETE",
        "COMMAND",
        "SERVER_KEY",
    ],
)
def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"PGRECALL_{name}", "x")
    Settings()
