"""One store in its own interpreter, controlled by lines of JSON on standard input.

    PYTHON -m benchmarks.peers.worker NAME

PYTHON is that of the store's environment, which lacks pgrecall and its dependencies unless NAME is
pgrecall's. The ``do`` of each line names a task; each answer is one line.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle, islice
from pathlib import Path
from typing import Any

FOUND = 10
"""The number of memories that a search returns."""


class Known:
    """Precomputed vectors by text, the same for every store."""

    def __init__(self, folder: Path) -> None:
        numpy = importlib.import_module("numpy")
        self.folder = folder
        texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        self._places = {text.strip(): place for place, text in enumerate(texts)}  # some stores strip texts
        self._vectors = numpy.load(folder / "vectors.npy", mmap_mode="r")

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    def vector(self, text: str) -> list[float]:
        made: list[float] = self._vectors[self._places[text.strip()]].tolist()
        return made


class Worker:
    """The tasks that lines can name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def versions(self) -> dict[str, Any]:
        """The versions of the store's packages."""
        return _versions(self._made().packages)

    def open(self, folder: str, database: dict[str, str]) -> dict[str, Any]:
        """Opens the store in a database, empty or loaded, and describes its configuration."""
        self._folder = Path(folder)
        self._store = self._made()(Known(self._folder), database)
        asked = (self._folder / "questions.json").read_text(encoding="utf-8")
        self._questions: list[str] = json.loads(asked)
        return {"versions": _versions(self._store.packages), "setup": self._store.setup}

    def _made(self) -> Any:
        return importlib.import_module("benchmarks.peers.stores").STORES[self._name]

    def load(self) -> dict[str, Any]:
        """Stores everything; wall-clock and CPU seconds, and the number of rows."""
        rows = json.loads((self._folder / "memories.json").read_text(encoding="utf-8"))
        wall, processor = time.perf_counter(), time.process_time()
        self._store.load(rows)
        spent = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
        return {"rows": len(rows), **spent}

    def search(self, question: int) -> dict[str, Any]:
        """The keys found, best first, with wall-clock and CPU seconds."""
        text = self._questions[question]
        wall, processor = time.perf_counter(), time.process_time()
        keys = self._store.search(text)
        spent = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
        return {"keys": keys[:FOUND], **spent}

    def together(self, clients: int, calls: int) -> dict[str, Any]:
        """The seconds of so many searches by so many threads."""
        with ThreadPoolExecutor(clients) as threads:
            list(threads.map(self._store.search, islice(cycle(self._questions), 2 * clients)))
            began = time.perf_counter()
            list(threads.map(self._store.search, islice(cycle(self._questions), calls)))
            return {"wall": time.perf_counter() - began}

    def close(self) -> dict[str, Any]:
        self._store.close()
        return {}


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def main() -> None:
    # Output of libraries must not be read as an answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        worker = Worker(sys.argv[1])
        for line in sys.stdin:
            asked = json.loads(line)
            action: Callable[..., dict[str, Any]] = getattr(worker, asked.pop("do"))
            print(json.dumps(action(**asked)), file=answers, flush=True)


if __name__ == "__main__":
    main()
