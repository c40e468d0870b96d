"""Coverage-guided fuzzing of one target, by atheris: ``python -m tests.fuzz.guided TARGET SECONDS FOLDER``.

It begins with the corpus and keeps in FOLDER what reached something new, and what failed as ``crash-...``:
put that into the corpus, under a name that says what it was, and it is tried in every run of the suite.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pgrecall.importers"]):
    from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


def main(name: str, seconds: str, folder: str) -> None:
    target, found = TARGETS[name], Path(folder)
    found.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="pgrecall-fuzz-"))

    def once(data: bytes) -> None:
        target(data, work)

    options = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1"]
    places = [f"-artifact_prefix={found}/", str(found), str(CORPUS / name.replace(" ", "-"))]
    atheris.Setup(["guided", *options, *places], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
