"""What programs of Postgres are told: everything of a URL but its secrets, which others could see."""

from __future__ import annotations

import sys
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall.errors import DatabaseError, InvalidInput
from pgrecall.schema.backups.programs import BrokenOff, connection_arguments, run_program

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=8, max_size=20)


@given(words, words)
def test_no_password_is_on_the_command_line(password: str, database: str) -> None:
    url = make_conninfo(host="db", dbname=database, user="ana", password="pw:" + password)
    arguments, variables = connection_arguments(url)
    assert variables == {"PGPASSWORD": "pw:" + password}
    told = conninfo_to_dict(arguments[-1].removeprefix("--dbname="))
    assert told == {"host": "db", "dbname": database, "user": "ana"}
    with pytest.raises(InvalidInput, match="sslpassword"):
        connection_arguments(make_conninfo(url, sslpassword="x"))


def test_a_program_that_fails_says_its_first_error() -> None:
    said = "pg_x: detail: a\npg_x: error: it broke.\npg_x: error: so"
    code = f"import sys; sys.exit({said!r})"
    with pytest.raises(DatabaseError) as failed:
        run_program([sys.executable, "-c", code])
    assert failed.value.message.endswith("failed: pg_x: error: it broke.")
    with pytest.raises(DatabaseError, match="was ended by SIGKILL"):
        run_program([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])


def test_a_program_is_ended_when_it_is_no_longer_wanted() -> None:
    stop = Event()
    with pytest.raises(BrokenOff):
        run_program([sys.executable, "-c", "import time; time.sleep(60)"], stop=stop, progress=stop.set)
