"""A service whose clock differs from that of its database: the database says what has expired."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import whole_command_line
from tests.acceptance.http.http_tools import member
from tests.acceptance.mcp.oauth_tools import (
    Person,
    admitted,
    authorization,
    exchanged,
    refreshed,
    registered,
    serving_oauth,
    values_of,
)
from tests.dates.__main__ import CLOCK

DAY = 86_400


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_clock_that_is_ahead_ends_no_code_and_no_token(database_url: str, tmp_path: Path) -> None:
    clock = tmp_path / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", clock, CLOCK], check=True)

    def ahead(*arguments: str | bytes) -> Sequence[str | bytes]:
        return ["env", f"LD_PRELOAD={clock}", f"CLOCK_AHEAD={40 * DAY}", *whole_command_line(*arguments)]

    with member(database_url) as memory:
        key = memory.keys.create("page").secret
    with serving_oauth(database_url, command=ahead) as served:
        person = Person(served, key)
        with person.browser:
            client = registered(served)["client_id"]
            code = values_of(person.decides(person.asked(authorization(client))))["code"]
        tokens = exchanged(served, client, code).json()
        assert admitted(served, tokens["access_token"])
        again = refreshed(served, client, tokens["refresh_token"]).json()
        assert admitted(served, again["access_token"])
