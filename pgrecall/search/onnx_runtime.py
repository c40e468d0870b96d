"""Sessions of ONNX Runtime on the CPU, for the default embedder and the ONNX reranker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pgrecall.settings import set_for_libraries

if TYPE_CHECKING:
    from numpy.typing import NDArray


def load_runtime() -> Any:
    """Imports onnxruntime without telemetry.

    Its official builds report each process, with a device id that they keep in the user's cache, unless this
    variable is set before the import. A value that is set already is kept.
    """
    set_for_libraries("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_session(graph: bytes | str, threads: int, weights: Mapping[str, NDArray[Any]] | None = None) -> Any:
    """A session, which threads may share; it raises whatever ONNX Runtime raises.

    Args:
        graph: the content of a file, or its path.
        threads: threads for each operator.
        weights: the tensors that the graph names and does not hold.
    """
    onnxruntime = load_runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors, which are raised as well
    options.intra_op_num_threads = threads
    # Threads that wait for the next operator give their core to others, Postgres among them.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
        options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
