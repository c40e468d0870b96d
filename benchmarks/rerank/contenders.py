"""The compared rerankers, and the plain call."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pgrecall.search.model_loading import silence_libraries
from pgrecall.search.rerank.http import HttpReranker
from pgrecall.search.rerank.local import LocalReranker
from pgrecall.search.rerank.onnx import OnnxReranker
from pgrecall.search.rerank.onnx_export import export_onnx
from pgrecall.search.rerank.reranker import CallableReranker, Reranker, warm_up
from pgrecall.search.rerank.scores import RerankCandidate

Plain = Callable[[str, Sequence[str]], list[float]]


def plain_call(folder: Path) -> Plain:
    """All texts in one padded batch, in full precision: ``CrossEncoder.predict`` with these arguments."""
    with silence_libraries():
        from sentence_transformers import CrossEncoder
        from torch.nn import Identity

        model = CrossEncoder(str(folder), local_files_only=True)
    bare = Identity()

    def call(query: str, texts: Sequence[str]) -> list[float]:
        pairs = [(query, text) for text in texts]
        scores = model.predict(pairs, batch_size=len(pairs), activation_fn=bare, show_progress_bar=False)
        return [float(score) for score in scores]

    return call


def hardware() -> dict[str, Any]:
    """The hardware: the name of the GPU or None, and whether this CPU multiplies bfloat16."""
    import torch

    cpu = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cpu bfloat16": bool(cpu.get("amx_bf16") or cpu.get("avx512_bf16")),
        "cpu 8-bit products": bool(cpu.get("avx512_vnni") or cpu.get("avx_vnni")),
        "threads": torch.get_num_threads(),
    }


@contextmanager
def ways(folder: Path, plain: Plain, pairs: int) -> Iterator[dict[str, Reranker]]:
    """Every reranker of pgrecall with the model in ``folder``, loaded and warm."""
    with ExitStack() as stack:
        workshop = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        local = LocalReranker(str(folder), precision="float32", pairs=pairs)
        made: dict[str, Reranker] = {
            "local float32": local,
            "local bfloat16": LocalReranker(str(folder), precision="bfloat16", pairs=pairs),
        }
        for name, exact in (("onnx float32", True), ("onnx int8", False)):
            exported = export_onnx(folder, workshop / name.replace(" ", "-"), exact=exact).folder
            made[name] = OnnxReranker(exported, pairs=pairs)
        made["callable"] = CallableReranker(plain, "plain", "logit", pairs=pairs, batch=pairs)
        url = stack.enter_context(_served(local))
        made["http"] = stack.enter_context(HttpReranker(url, form="tei", pairs=pairs, timeout=600))
        for reranker in made.values():
            warm_up(reranker)
        yield made


def on_gpu(folder: Path, pairs: int) -> dict[str, Reranker]:
    """The local reranker in both precisions, for more pairs than on a CPU."""
    made: dict[str, Reranker] = {
        f"{pairs} pairs, {precision}": LocalReranker(str(folder), precision=precision, pairs=pairs)
        for precision in ("float32", "bfloat16")
    }
    for reranker in made.values():
        warm_up(reranker)
    return made


@contextmanager
def _served(reranker: Reranker) -> Iterator[str]:
    """The URL of a local server with TEI's API that answers with ``reranker``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            candidates = [RerankCandidate(place, text) for place, text in enumerate(asked["texts"])]
            found = reranker.rerank(asked["query"], candidates, top_n=len(candidates)).scores
            answer = json.dumps([{"index": score.id, "score": score.score} for score in found]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
