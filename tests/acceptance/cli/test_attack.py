"""`make attack`, as an outsider finds it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from pgrecall import Memory
from scripts.attack import THEIRS, YOURS, digest_of_theirs
from tests.acceptance.http.http_tools import PLAIN
from tests.given_server import embedded_only
from tests.waiting import PATIENCE

RUN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from scripts import attack; sys.exit(attack.main())"
)


@dataclass
class Attack:
    """The running command, and what it handed out."""

    process: subprocess.Popen[str]
    login: str
    service: str
    key: str


@pytest.fixture
def attack() -> Iterator[Attack]:
    # It has a server of its own, whatever is set.
    kept = {**os.environ, "PGRECALL_DATABASE_URL": "postgresql://nobody@nowhere.invalid/none"}
    process = subprocess.Popen([sys.executable, "-c", RUN], env=kept, stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        assert process.stdout is not None
        while "Ctrl-C ends it" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        [login] = re.findall(r"psql '(\S+)'", said)
        [(service, key)] = re.findall(r"(http://\S+)/v1/status.*Bearer (\S+)'", said)
        yield Attack(process, login, service, key)
    finally:
        process.kill()
        process.communicate()


@embedded_only("starts a server of its own")
def test_an_outsider_gets_a_login_and_a_key_and_a_verdict(attack: Attack) -> None:
    with psycopg.connect(attack.login, autocommit=True) as login:
        assert login.execute("SELECT recall.current_tenant()").fetchall() == [(YOURS,)]
        assert login.execute("SELECT count(*) > 2 FROM recall.search('gauge key')").fetchall() == [(True,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            login.execute("SELECT FROM recall.memory")
    # Nobody else is let in at that address, and not without the password.
    parts = urlsplit(attack.login)
    for user in ("postgres", "service", f"{parts.username}:wrong"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"postgresql://{user}@{parts.hostname}/postgres")
    with httpx.Client(base_url=attack.service, **PLAIN) as http:
        held = http.get("/v1/status", headers={"Authorization": f"Bearer {attack.key}"})
        assert (held.status_code, held.json()["tenant"]) == (200, YOURS)
        assert http.get("/v1/status").status_code == 401
    attack.process.send_signal(signal.SIGINT)
    said, _ = attack.process.communicate(timeout=PATIENCE)
    assert attack.process.returncode == 0, said
    assert f"{THEIRS} is as it was." in said
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(attack.login)


def test_the_verdict_notices_any_change_and_only_of_theirs(memory: Memory, database_url: str) -> None:
    theirs = memory.for_tenant(THEIRS)
    theirs.remember("The gauge is read at dawn", key="gauge")
    before = digest_of_theirs(database_url)
    memory.remember("The harbour opens at six", key="harbour")
    assert digest_of_theirs(database_url) == before
    theirs.record_access("gauge", "used")
    after = digest_of_theirs(database_url)
    assert after != before
    theirs.settings.set("prune.grace_days", 3)
    assert digest_of_theirs(database_url) != after
