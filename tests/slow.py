"""What `make test` leaves to `make test ALL=1`, which CI runs: each part, and what it guards.

A part is a folder, a file or a test, named by the beginning of its id; its tests get the mark ``slow``. What
`make test` runs guards the same product by smaller examples: one upgrade, the page without a browser, search
by words. When you change what a part guards, run it by its name; before a release, run everything.
"""

from __future__ import annotations

FAILURES = {
    "tests/faults/": "nothing acknowledged is lost when servers, disks, networks, clocks or models fail",
    "tests/concurrency/": "writers at once lose nothing and do not wait for each other",
    "tests/stateful/test_plans_together.py": "plans, applied and undone in any order",
    "tests/integration/roles/test_keys_at_once.py": "keys are made and revoked at once",
    "tests/acceptance/cli/test_kill.py": "a job that is killed at any instant is completed by its next run",
    "tests/acceptance/cli/test_worker.py": "the worker as a process: its schedule, its signals, its outages",
    "tests/acceptance/mcp/test_mcp.py::test_two_clients": "two agents at once",
    "tests/acceptance/http/test_http_clients.py::test_two_hundred_at_once": "many get their answers",
    "tests/integration/embedded/": "the embedded server starts, is shared, and survives its users",
}

SEVERAL_DATABASES = {
    "tests/integration/cells/": "tenants move between cells and are found there, whatever fails meanwhile",
    "tests/integration/replicas/": "a standby answers searches only while it is recent enough",
    "tests/integration/router/": "cells on Citus answer as one database does",
    "tests/integration/backups/": "a backup brings back every tenant as it was",
    "tests/acceptance/cli/test_backup_cli.py": "the same by commands",
    "tests/acceptance/cli/test_other_set_ups.py": "commands answer alike whatever is set in Postgres",
    "tests/pooler/": "every interface works behind PgBouncer",
}

ATTACKS = {
    "tests/attack/test_counter_sweep.py": "no counter of Postgres tells of another tenant, in any function",
    "tests/attack/test_counters.py": "nor in searches, under any setting of the planner",
    "tests/attack/test_open_transactions.py": "transactions that a tenant never ends do no harm",
    "tests/attack/test_fair_share.py": "a tenant that takes much leaves the others their share",
    "tests/attack/test_unfinished_bodies.py": "clients that never finish keep nobody out",
    "tests/acceptance/cli/test_attack.py": "`make attack` finds every wall between tenants whole",
    "tests/fuzz/": "any input, however strange, has an answer or a refusal",
    "tests/oracle/": "random days of eight tenants are answered as the documentation says",
    "tests/acceptance/test_limits": "what is at a limit is read alike by every interface",
    "tests/acceptance/http/test_http_contract.py::test_it_keeps": "every route keeps to openapi.json",
}

INSTALLATION = {
    "tests/migration/test_every_revision.py::test_what_": "data of each revision comes through all later",
    "tests/migration/test_every_revision.py::test_plans_of_old": "plans of an old version work in this one",
    "tests/migration/test_every_revision.py::test_all_revisions_at_once[000": "an upgrade from the oldest",
    "tests/migration/test_accesses_upgrade.py": "uses that 0001 stored count as today's do",
    "tests/migration/test_search_upgrade.py": "what 0003 stored is found in today's way",
    "tests/migration/test_install.py": "installations in odd places are whole, or refused",
    "tests/migration/test_installers.py": "who may install, and what is refused to whom",
    "tests/migration/test_interrupted.py": "an upgrade that is killed goes on",
    "tests/migration/test_under_load.py": "an upgrade while others read and write",
    "tests/migration/test_another_server.py": "a dump answers the same on another server",
    "tests/acceptance/cli/test_connect.py::test_every_editor_with_hooks": "each editor captures sessions",
    "tests/acceptance/cli/test_real_clients.py": "programs of editors, if there are any, reach our server",
    "tests/acceptance/cli/test_recall_hook.py::test_every_editor": "each editor gets memories in its form",
    "tests/acceptance/cli/test_recall_hook.py::test_ten_rounds": "recall does not feed on itself",
    "tests/acceptance/test_wheel.py": "the wheel works with its own dependencies alone",
    "tests/acceptance/deploy/test_compose.py": "an empty volume becomes a service that answers",
    "tests/acceptance/agents/": "plugins of agents against the real service",
    "tests/acceptance/typescript/": "the TypeScript client against the real service",
}

CHROMIUM = {
    f"tests/acceptance/page/test_page_{name}.py": f"the page in Chromium: {what}"
    for name, what in {
        "browser": "keyboard and focus",
        "choices": "merges by hand",
        "newcomers": "the first visit, without scripts",
        "quality": "searches that are judged",
        "walks": "from a question to its answer by keyboard",
        "work": "undo, files that are dropped, telephones, axe",
    }.items()
}

MODELS = {
    "tests/integration/embed/test_embedding_local.py": "MiniLM as the default embedder",
    "tests/integration/embed/test_minilm.py": "its ONNX form has the vectors of sentence-transformers",
    "tests/integration/embed/test_multilingual.py": "the multilingual model",
    "tests/integration/rerank/": "rerankers: their models, and searches with them",
    "tests/integration/search/test_multilingual.py": "searches with the multilingual model",
    "tests/acceptance/cli/test_calibration_cli.py": "`pgrecall calibrate`, from a fit to its weights",
    "tests/acceptance/docs/test_transcripts.py": "the README's example, answered by the default embedder",
    "tests/quality/test_examples.py": "floors of quality for each kind of question",
    "tests/quality/test_follow_ups.py": "floors of follow-ups with their conversation",
    "tests/quality/test_words.py": "floors without a model for each kind; those of corpora stay",
    "tests/quality/test_corpora.py::test_a_corpus": "floors of corpora; those of words stay",
    "tests/quality/test_captured_questions.py": "a captured question is no answer",
    "tests/quality/test_repeated_texts.py": "what `remember` calls nearly the same",
    "tests/quality/test_duplicates.py::test_a_plan": "a plan merges what says the same and nothing else",
}

LARGE = {
    "tests/integration/benchmarks/": "benchmarks and `make soak` measure what they say",
    "tests/integration/search/test_directive_plans.py": "a search of many directives reads few",
    "tests/integration/search/test_search_plans.py": "a search of many memories uses its indexes",
    "tests/integration/search/test_search_size.py": "a search has a bounded size",
    "tests/integration/memories/test_write_plans.py": "a write uses its indexes",
    "tests/integration/memories/test_foreign_statistics.py": "plans do not depend on other tenants",
    "tests/integration/memories/test_analyze.py": "statistics follow what is stored",
    "tests/integration/memories/test_forgotten_files.py": "no file holds what was forgotten",
    "tests/integration/memories/test_list.py::test_a_page_has_sixteen": "a page of a list has a bounded size",
    "tests/integration/export/test_import_checks.py::test_after_any": "functions answer after any import",
    "tests/integration/links/test_graph_shapes.py::test_large": "large graphs of every shape",
    "tests/integration/prune/test_prune_graph.py::test_a_vault": "a vault of a thousand notes",
    "tests/unit/test_word_differences.py::test_long_texts": "the difference of long texts takes seconds",
    "tests/integration/dedupe/test_dedupe_pages.py::test_the_more": "what a comparison of duplicates costs",
    "tests/integration/dedupe/test_dedupe_exact.py": "a merge of 500 clusters is undone exactly",
    "tests/integration/prune/test_prune_graph.py::test_a_chain_of_three_thousand": "long chains of links",
}

SLOW = FAILURES | SEVERAL_DATABASES | ATTACKS | INSTALLATION | CHROMIUM | MODELS | LARGE
