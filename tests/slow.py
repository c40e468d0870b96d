"""What `make test` leaves to `make test ALL=1`, which CI runs: each part, and what it guards.

A part is a folder, a file or a test, named by the beginning of its id; its tests get the mark ``slow``. What
`make test` runs guards the same product by smaller examples: one upgrade, the page without a browser, search
by words. It still sees each kind of fault once: isolation, plans, the newest migration, every interface, the
documentation and the quality of search. When you change what a part guards, run it by its name; before a
release, run everything.
"""

from __future__ import annotations

FAILURES = {
    "tests/faults/": "nothing acknowledged is lost when servers, disks, networks, clocks or models fail",
    "tests/concurrency/": "writers at once lose nothing and do not wait for each other",
    "tests/stateful/": "calls in any order do what a simple model says; so do plans, applied and undone",
    "tests/integration/roles/test_keys_at_once.py": "keys are made and revoked at once",
    "tests/acceptance/cli/test_kill.py": "a job that is killed at any instant is completed by its next run",
    "tests/acceptance/cli/test_worker.py": "the worker as a process: its schedule, its signals, its outages",
    "tests/acceptance/mcp/test_mcp.py::test_two_clients": "two agents at once",
    "tests/acceptance/mcp/test_mcp_http.py::test_parallel": "so do parallel searches on a small pool",
    "tests/acceptance/http/test_http_clients.py": "clients that go away, wait or are many do no harm",
    "tests/acceptance/cli/test_watch.py": "`import --watch` outlives its database and its notes",
    "tests/acceptance/cli/test_bad_input.py::test_ctrl_c": "a command that is stopped keeps what is stored",
    "tests/acceptance/cli/test_bad_input.py::test_a_reader": "a reader that goes away is no error",
    "tests/integration/client/test_client_losses.py": "a client outlives connections and forks",
    "tests/integration/client/test_client_breaking_off.py": "a call is broken off in time, in Postgres too",
    "tests/integration/access/test_access.py::test_eight": "uses at once are all counted",
    "tests/integration/access/test_accesses_at_once.py": "nor do they deadlock",
    "tests/integration/settings/test_layers_refused.py::test_changes_of": "changes of layers at once",
    "tests/integration/embed/test_vectors.py": "no vector is lost while a tenant gets an index of its own",
    "tests/integration/embed/test_queries_and_memories.py::test_a_client": "searches without the embedder",
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
    "tests/attack/test_older_snapshots.py": "a transaction that sees nothing new stores nothing by halves",
    "tests/attack/test_open_transactions.py": "transactions that a tenant never ends do no harm",
    "tests/attack/test_fair_share.py": "a tenant that takes much leaves the others their share",
    "tests/attack/test_unfinished_bodies.py": "clients that never finish keep nobody out",
    "tests/attack/test_every_command.py": "no login of another tenant or none gets anything by a command",
    "tests/attack/test_every_tool.py": "no key of another tenant, or that is none, calls any tool of MCP",
    "tests/attack/test_faces.py": "no key of a tenant opens another over HTTP, MCP and the page",
    "tests/attack/test_hostile_settings.py": "settings of a session harm nobody",
    "tests/attack/test_locks.py": "nobody waits for the locks of another tenant",
    "tests/attack/test_revoked_keys.py": "nothing begins after its key was revoked",
    "tests/attack/test_shared_tenants.py": "a shared tenant is read and never written by others",
    "tests/attack/test_sharing.py": "a copy for another tenant takes nothing else along",
    "tests/attack/test_own_exports.py": "what a role stores does not spoil the export of its tenant",
    "tests/acceptance/test_secrets.py": "no interface prints or logs a secret",
    "tests/acceptance/page/test_page_attacks.py": "forms of other sites and scripts in texts do nothing",
    "tests/acceptance/page/test_page_keys.py::test_a_thousand": "sign-ins end no session of others",
    "tests/acceptance/mcp/test_mcp_refused.py": "bad input over MCP changes nothing",
    "tests/acceptance/cli/test_hooks_bad_input.py": "hooks in bad surroundings hold no editor up",
    "tests/unit/importers/test_hostile_files.py": "hostile files take little memory and time",
    "tests/integration/search/test_extreme_texts.py": "texts of any length are stored and found",
    "tests/integration/search/test_split_words.py::test_a_memory_of_a_million": "so are those of one word",
    "tests/integration/embed/test_passages.py::test_a_huge": "a text has a bounded number of vectors",
    "tests/integration/embed/test_passages.py::test_characters": "characters without a vector are reported",
    "tests/integration/embed/test_passages.py::test_the_end_of_a": "the end of a long text is found",
    "tests/integration/export/test_import_checks.py::test_what_the_front": "an import refuses what others do",
    "tests/acceptance/cli/test_attack.py": "`make attack` finds every wall between tenants whole",
    "tests/fuzz/": "any input, however strange, has an answer or a refusal",
    "tests/oracle/": "random days of eight tenants are answered as the documentation says",
    "tests/acceptance/test_large_versions.py": "twenty versions of a megabyte are read in bounded pages",
    "tests/acceptance/test_limits": "what is at a limit is read alike by every interface",
    "tests/acceptance/http/test_http_contract.py::test_it_keeps": "every route keeps to openapi.json",
}

LAWS = {
    "tests/unit/importers/test_one_strange_field.py": "any field of a chat may have any value",
    "tests/unit/importers/test_importers_chats.py::test_a_mutated": "mutated chats give drafts and sentences",
    "tests/unit/importers/test_importers_chats.py::test_a_damaged": "so do damaged ones",
    "tests/unit/faces/test_plan_charts.py": "pictures of any plan can be read",
    "tests/unit/search/test_calibration.py": "what a fit must not depend on",
    "tests/unit/search/test_context_selection_laws.py": "a context keeps its budget and repeats nothing",
    "tests/unit/vitality/test_vitality_log.py": "a log of uses folds to the same in any order",
    "tests/integration/vitality/test_vitality_sql_laws.py": "laws of vitality hold in SQL as in Python",
    "tests/integration/vitality/test_vitality_sql.py::test_sql_equals": "SQL and Python agree on 10,000",
    "tests/integration/memories/test_strange_import.py::test_chats": "the database takes what they give",
    "tests/integration/access/test_as_of.py::test_past": "vitality of the past is what it was then",
    "tests/integration/access/test_fold_many.py": "folding many is folding each",
    "tests/integration/dedupe/test_dedupe_prefilter.py": "the prefilter leaves out no pair",
    "tests/integration/dedupe/test_dedupe_shapes.py": "merges of clusters of any shape are undone exactly",
    "tests/integration/export/test_export_laws.py": "any life of a tenant comes back from its export",
    "tests/integration/links/test_graph_shapes.py": "graphs of any shape and size agree with networkx",
}

INSTALLATION = {
    "tests/migration/test_every_revision.py::test_what_": "data of each revision comes through all later",
    "tests/migration/test_every_revision.py::test_plans_of_old": "plans of an old version work in this one",
    "tests/migration/test_every_revision.py::test_all_revisions_at_once[000": "an upgrade from the oldest",
    "tests/migration/test_every_revision.py::test_all_revisions_at_once[0036": "one from before the baseline",
    "tests/migration/test_schema.py::test_the_baseline": "the baseline is what earlier revisions make",
    "tests/migration/test_no_revision.py": "a schema of no revision is refused or mended",
    "tests/migration/test_writers_upgrade.py": "nothing that is written during an upgrade is lost",
    "tests/migration/test_dedupe_upgrade.py": "pairs of an older comparison are judged again",
    "tests/migration/test_dump.py": "a dump keeps words and names",
    "tests/integration/roles/test_no_superuser.py": "an installation without a superuser does everything",
    "tests/integration/roles/test_unprivileged.py": "so do workers and clients with few rights",
    "tests/migration/test_accesses_upgrade.py": "uses that 0001 stored count as today's do",
    "tests/migration/test_search_upgrade.py": "what 0003 stored is found in today's way",
    "tests/migration/test_install.py": "installations in odd places are whole, or refused",
    "tests/migration/test_installers.py": "who may install, and what is refused to whom",
    "tests/migration/test_interrupted.py": "an upgrade that is killed goes on",
    "tests/migration/test_under_load.py": "an upgrade while others read and write",
    "tests/migration/test_another_server.py": "a dump answers the same on another server",
    "tests/acceptance/cli/test_connect.py::test_every_editor_with_hooks": "each editor captures sessions",
    "tests/acceptance/mcp/test_conformance.py": "the conformance suite of MCP, if it is there",
    "tests/acceptance/mcp/test_inspector.py": "the inspector of MCP, if it is there, uses our tools",
    "tests/acceptance/cli/test_real_clients.py": "programs of editors, if there are any, reach our server",
    "tests/acceptance/cli/test_recall_hook.py::test_every_editor": "each editor gets memories in its form",
    "tests/acceptance/cli/test_recall_hook.py::test_other": "prompts that ask for nothing get nothing",
    "tests/acceptance/cli/test_ten_rounds.py": "recall does not feed on itself",
    "tests/acceptance/cli/test_recall_hook.py::test_what_is_no": "what is no prompt is refused",
    "tests/acceptance/cli/test_session_hooks.py": "sessions are captured, and begin with what is known",
    "tests/acceptance/docs/test_howto_commands.py": "commands of the howtos that need servers of their own",
    "tests/acceptance/test_wheel.py": "the wheel works with its own dependencies alone",
    "tests/acceptance/deploy/test_compose.py": "an empty volume becomes a service that answers",
    "tests/acceptance/agents/": "plugins of agents against the real service",
    "tests/acceptance/typescript/": "the TypeScript client against the real service",
}

CHROMIUM = {
    f"tests/acceptance/page/test_page_{name}.py": f"the page in Chromium: {what}"
    for name, what in {
        "browser": "keyboard and focus",
        "newcomers": "the first visit, without scripts",
        "quality": "searches that are judged",
        "scripts": "scripts in everything that is stored or asked",
        "walks": "from a question to its answer by keyboard",
        "work": "undo, files that are dropped, telephones, axe",
    }.items()
}

MODELS = {
    "tests/integration/embed/test_embedding_local.py": "MiniLM as the default embedder",
    "tests/integration/embed/test_minilm.py": "its ONNX form has the vectors of sentence-transformers",
    "tests/integration/embed/test_multilingual.py": "the multilingual model",
    "tests/integration/rerank/": "rerankers: their models, and searches with them",
    "tests/integration/calibration/test_calibrate.py": "a fit to judged queries makes probabilities",
    "tests/integration/calibration/test_calibrate_reranker.py": "a reranker is believed as far as it knows",
    "tests/unit/search/test_reranking_http.py": "rerankers over HTTP, and whatever they answer",
    "tests/integration/search/test_multilingual.py": "searches with the multilingual model",
    "tests/acceptance/cli/test_calibration_cli.py": "`pgrecall calibrate`, from a fit to its weights",
    "tests/acceptance/docs/test_transcripts.py": "the README's example, answered by the default embedder",
    "tests/quality/test_examples.py": "floors of quality for each kind of question",
    "tests/quality/test_follow_ups.py": "floors of follow-ups with their conversation",
    "tests/quality/test_recall_at_prompts.py": "a day in an editor: no secret, no repeat, little noise",
    "tests/integration/search/test_real_model.py": "a real language model, if there is one",
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
    "tests/integration/memories/test_shared_statistics.py": "nor do statistics on a tenant's settings",
    "tests/integration/feedback/test_feedback_reports.py::test_rates": "rates of use are found again",
    "tests/acceptance/page/test_page_pages.py": "long plans are shown in pages",
    "tests/integration/memories/test_analyze.py": "statistics follow what is stored",
    "tests/integration/memories/test_forgotten_files.py": "no file holds what was forgotten",
    "tests/integration/memories/test_list.py::test_a_page_has_sixteen": "a page of a list has a bounded size",
    "tests/integration/export/test_import_checks.py::test_after_any": "functions answer after any import",
    "tests/integration/prune/test_prune_graph.py::test_a_vault": "a vault of a thousand notes",
    "tests/unit/faces/test_plan_report.py::test_a_huge": "the page of a huge plan stays small",
    "tests/unit/test_word_differences.py::test_long_texts": "the difference of long texts takes seconds",
    "tests/unit/test_word_differences.py::test_many": "that of many texts takes no longer",
    "tests/integration/dedupe/test_dedupe_pages.py::test_the_more": "what a comparison of duplicates costs",
    "tests/integration/dedupe/test_dedupe_exact.py": "a merge of 500 clusters is undone exactly",
    "tests/integration/prune/test_prune_graph.py::test_a_chain_of_three_thousand": "long chains of links",
}

SLOW = FAILURES | SEVERAL_DATABASES | ATTACKS | LAWS | INSTALLATION | CHROMIUM | MODELS | LARGE
