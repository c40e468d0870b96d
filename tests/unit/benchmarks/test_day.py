"""The script of the day: its key can be met, and its secrets are known as such."""

from __future__ import annotations

import json
import re

from benchmarks.day.__main__ import DAY
from pgrecall.importers.secrets import without_secrets

SCRIPT = json.loads(DAY.read_text())


def test_what_a_prompt_wants_was_said_before() -> None:
    said = "\n".join([*SCRIPT["notes"], *SCRIPT["commits"]["clock"], *SCRIPT["commits"]["winch"]])
    for session in SCRIPT["sessions"]:
        for turn in session["turns"]:
            assert all(want in said for want in turn.get("wants", ())), turn
        said += "\n".join(turn.get("user") or turn["assistant"] for turn in session["turns"])


def test_every_secret_is_planted_and_recognised() -> None:
    texts = [next(iter(turn.values())) for session in SCRIPT["sessions"] for turn in session["turns"]]
    planted = set(re.findall(r"\{(\w+)\}", "\n".join([*texts, *SCRIPT["projects"].values()])))
    assert planted == set(SCRIPT["secrets"])
    for name, secret in SCRIPT["secrets"].items():
        if name != "password":  # it stands in the URL of a remote alone
            assert secret not in without_secrets(f"Use {secret} for it.")[0]
