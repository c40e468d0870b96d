"""Each operation as a value: one SQL call, its parameters, and how to read its rows. No I/O here.

Drivers (:mod:`pgrecall.client`) run the same values synchronously or asynchronously.

base        what every operation is made of
memories    storing, reading, forgetting
links       linking and superseding
use         accesses
searching   questions
composing   what a block of context is made with
feedback    verdicts on what was shown
graph       the link graph as a whole
reading     status and statistics
prune       prune plans
layers      layers and presets
settings    numbers that can be tuned
keeping     pins, the past, rebuilding, verifying
upkeep      the steps of jobs
keys        keys of the HTTP service
service     the schema's state, and figures of a whole database
jobs        runs of jobs, and embeddings made after the fact
pictures    what pictures are drawn from
transfer    a tenant whole, as lines
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from pgrecall.operations import (
        calibration,
        charts,
        feedback,
        jobs,
        keys,
        layers,
        maintenance,
        overview,
        prune,
        service,
        settings,
    )
    from pgrecall.operations.access import record_access, record_accesses
    from pgrecall.operations.graph import link_graph, settle_links, store_cut_sizes
    from pgrecall.operations.links import link, pending_count, supersede
    from pgrecall.operations.memories import (
        KnownContent,
        Rejected,
        content_hashes,
        forget,
        get,
        keys_of_source,
        remember_many,
    )
    from pgrecall.operations.operation import Operation, Row
    from pgrecall.operations.search import find, questions_without_names, search_and_log
    from pgrecall.operations.status import refresh_statistics, server_version, status

__all__ = [
    "KnownContent",
    "Operation",
    "Rejected",
    "Row",
    "calibration",
    "charts",
    "content_hashes",
    "feedback",
    "find",
    "forget",
    "get",
    "jobs",
    "keys",
    "keys_of_source",
    "layers",
    "link",
    "link_graph",
    "maintenance",
    "overview",
    "pending_count",
    "prune",
    "questions_without_names",
    "record_access",
    "record_accesses",
    "refresh_statistics",
    "remember_many",
    "search_and_log",
    "server_version",
    "service",
    "settings",
    "settle_links",
    "status",
    "store_cut_sizes",
    "supersede",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "operation": ("Operation", "Row"),
            "graph": ("link_graph", "settle_links", "store_cut_sizes"),
            "links": ("link", "pending_count", "supersede"),
            "memories": (
                "KnownContent",
                "Rejected",
                "content_hashes",
                "forget",
                "get",
                "keys_of_source",
                "remember_many",
            ),
            "status": ("refresh_statistics", "server_version", "status"),
            "search": ("find", "questions_without_names", "search_and_log"),
            "access": ("record_access", "record_accesses"),
        },
        (
            "calibration",
            "feedback",
            "jobs",
            "maintenance",
            "keys",
            "overview",
            "layers",
            "charts",
            "prune",
            "service",
            "settings",
        ),
    )
