"""Calls that work on dozens of memories or on all of a tenant: one or more of each function that does."""

from __future__ import annotations

import json
from typing import Any

from tests.attack.growth import vector
from tests.attack.world import NOW

LATER = "2036-06-01 12:00:00+00"
SOME = 40
"""Memories that a call is about, unless it is about all."""

Call = tuple[str, tuple[Any, ...]]

ONE_ROW = {
    "add_reader",
    "admit_tenant",
    "alarm_changes",
    "begin_job",
    "begin_reembedding",
    "census",
    "close_grant",
    "close_page_session",
    "create_key",
    "drop_erasure",
    "drop_plan",
    "due_tenants",
    "end_grant",
    "end_job",
    "exchange_grant",
    "find_grant",
    "grants",
    "has_active_key",
    "key_holder",
    "keys",
    "make_access_partitions",
    "open_grant",
    "open_page_session",
    "page_session_tenant",
    "readers",
    "rejected",
    "remove_reader",
    "report_job",
    "reset_relevance_model",
    "reset_rerank_model",
    "revoke_key",
    "run_due_job",
    "set_setting",
    "share",
    "shortest_job_interval",
    "store_relevance_model",
    "store_rerank_model",
    "tenants",
}
"""Functions that write and read no memories: only settings, keys, sessions, runs, or one row of a search."""

IMPORTS = {"begin_import", "import_lines", "end_import"}
"""Three calls of one transaction, into a tenant without rows."""


def drafts(first: int, key: str, **fields: Any) -> str:
    """Some drafts that link to the next ones and to what is still to come, as JSON."""
    return json.dumps(
        [
            {
                "key": f"{key}{n}",
                "title": f"rope {n}",
                "body": f"tar {n} and rope",
                "embedding": vector(n),
                "links": [
                    {"target": f"{key}{n + 1}"},
                    {"target": f"rope {n + 2}"},
                    {"target": f"to come {n}"},
                ],
                **fields,
            }
            for n in range(first, first + SOME)
        ]
    )


FOUND = (
    "(SELECT jsonb_agg(jsonb_build_object('id', t.memory_id, 'version', t.version, 'digest', t.digest, "
    """'places', '[{"path": ["body"], "spans": [[0, 1, "Key"]]}]'::jsonb)) """
    "FROM recall.stored_texts(0, 0, 200) t), p_now => '2026-06-01 12:00+00'"
)
"""Secrets in 200 texts, as a client finds them."""


def writes(ids: list[int]) -> dict[str, Call]:
    """Calls of functions that write, by name; what stands before a colon is the function."""
    some, edited = ids[20 : 20 + SOME], ids[:SOME]
    each = "SELECT count(*) FROM unnest(%s::bigint[]) i"
    uses = [
        {"memory_id": i, "kind": "used", "session_id": f"t{i % 20}", "idempotency_key": f"n{i}"} for i in some
    ]
    last = "(SELECT max(id) FROM recall.{} WHERE tenant = 'acme')"
    newest = "(SELECT max(id) FROM recall.plan WHERE tenant = 'acme' AND kind = '{}')"
    plan, merges = (newest.format(kind) for kind in ("prune", "dedupe"))
    erasure = last.format("erasure")
    embedded = (
        "SELECT recall.store_embeddings((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'content_hash', "
        "m.content_hash, 'embedding', %s::text, 'tokens', ARRAY['x1f', 'x3c'])) FROM recall.memory m "
        "WHERE m.tenant = 'acme' AND m.id = ANY (%s)), 'hash')"
    )
    return {
        "remember": (
            f"{each}, recall.remember('x', p_key => 'rope' || i, p_links => '[{{\"target\": \"a\"}}]', "
            "p_now => %s)",
            (some, NOW),
        ),
        "remember_many": ("SELECT recall.remember_many(%s, 'hash', p_now => %s)", (drafts(1, "tar"), NOW)),
        "remember_many: waited for": (
            "SELECT recall.remember_many(%s, 'hash', p_now => %s)",
            (drafts(1, "missing "), NOW),
        ),
        "remember_many: again": (
            "SELECT recall.remember_many(%s, 'hash', p_now => %s)",
            (drafts(1, "rope"), NOW),
        ),
        "remember_many: revived": (
            "SELECT recall.remember_many(%s, 'hash', p_now => %s)",
            (drafts(len(ids) - SOME, "rope"), NOW),
        ),
        "remember_many: compared": (
            "SELECT recall.remember_many(%s, 'hash', p_now => %s, p_compare => true)",
            (drafts(1, "tar"), NOW),
        ),
        "store_imported": (
            "SELECT recall.store_imported('vault', NULL, %s, 'hash', %s)",
            (drafts(1, "rope"), NOW),
        ),
        "rename_imported": (
            "SELECT recall.rename_imported('rope-source', NULL, "
            "(SELECT jsonb_object_agg(m.key, 'missing ' || m.id) "
            "FROM recall.memory m WHERE m.id = ANY (%s)), %s)",
            (some, NOW),
        ),
        "archive_imported": (
            "SELECT recall.archive_imported('vault', NULL, %s, %s)",
            ([f"rope{n}" for n in range(SOME)], NOW),
        ),
        "undo_import": (
            "SELECT recall.undo_import(NULL, 'vault', %s) "
            "FROM (SELECT count(*) FROM recall.store_imported('vault', NULL, %s, 'hash', %s)) s",
            (NOW, drafts(1, "rope"), NOW),
        ),
        "link": (f"{each} WHERE recall.link(i, i + 1, 'mentions', 1, %s)", (some, NOW)),
        "unlink": (f"{each} WHERE recall.unlink(i, i - 1, NULL, %s) > 0", (some, NOW)),
        "supersede": (f"{each} WHERE recall.supersede(i, i + 1, %s)", (some, NOW)),
        "forget": (f"{each} WHERE recall.forget(i, false, %s)", (some, NOW)),
        "forget: for good": (f"{each} WHERE recall.forget(i, true, %s)", (some, NOW)),
        "forget_session": ("SELECT recall.forget_session('rope-session', false, %s)", (NOW,)),
        "unarchive_session": ("SELECT recall.unarchive_session('rope-session', %s)", (NOW,)),
        "unarchive": (f"{each} WHERE recall.unarchive(i, %s)", (ids[-SOME:], NOW)),
        "rename_keys": (
            "SELECT recall.rename_keys('rope-source', (SELECT jsonb_object_agg(m.key, 'missing ' || m.id) "
            "FROM recall.memory m WHERE m.id = ANY (%s)), %s)",
            (some, NOW),
        ),
        "edit": (
            f"{each}, recall.edit(i, jsonb_build_object('title', 't' || i, 'aliases', "
            "jsonb_build_array('missing ' || i)), p_now => %s)",
            (some, NOW),
        ),
        "restore_version": (f"{each}, recall.restore_version(i, 1, p_now => %s)", (edited, NOW)),
        "record_accesses": ("SELECT recall.record_accesses(%s::jsonb, %s)", (json.dumps(uses), NOW)),
        "record_access": (
            f"{each} WHERE recall.record_access(i, 'used', p_session_id => 'z', p_now => %s)",
            (some, NOW),
        ),
        "log_shown": (
            "SELECT recall.log_shown(%s::bigint[], 's', %s, 'who?'), recall.fold_accesses()",
            (some, NOW),
        ),
        "fold_accesses": ("SELECT recall.fold_accesses()", ()),
        "search_and_log": (
            'SELECT recall.search_and_log(\'{"query": "rope and tar"}\', p_now => %s)',
            (NOW,),
        ),
        "used": (
            "SELECT recall.used(s.id, ARRAY(SELECT u FROM unnest(s.shown) u WHERE u IS NOT NULL), %s) "
            "FROM recall.search_log s WHERE s.tenant = 'acme'",
            (NOW,),
        ),
        "pin": (f"{each} WHERE recall.pin(i, true, %s)", (some, NOW)),
        "resolve_pending_links": ("SELECT recall.resolve_pending_links()", ()),
        "expire_memories": ("SELECT recall.expire_memories(1000, %s)", (LATER,)),
        "expire_searches": ("SELECT recall.expire_searches(1000, %s)", (LATER,)),
        "expire_changes": ("SELECT recall.expire_changes(1000, %s)", (LATER,)),
        "rebuild": ("SELECT recall.rebuild()", ()),
        "rebuild: some": ("SELECT recall.rebuild(%s::bigint[])", (some,)),
        "find_duplicates": ("SELECT recall.find_duplicates()", ()),
        "plan_dedupe": ("SELECT recall.plan_dedupe(p_now => %s)", (NOW,)),
        "apply_plan: dedupe": (f"SELECT recall.apply_plan({merges}, p_now => %s)", (NOW,)),
        "undo_plan: dedupe": (
            f"SELECT recall.undo_plan({merges}, %s) "
            f"FROM (SELECT count(*) FROM recall.apply_plan({merges}, p_now => %s)) a",
            (NOW, NOW),
        ),
        "plan_merge": (
            "SELECT recall.apply_plan(recall.plan_merge(%s, %s::bigint[], %s), p_now => %s)",
            (some[0], some[1:], NOW, NOW),
        ),
        "plan_redact": (f"SELECT recall.apply_plan(recall.plan_redact({FOUND}), %s)", (NOW,)),
        "undo_plan: redact": (
            f"SELECT recall.undo_plan(p.id, %s) FROM (SELECT recall.plan_redact({FOUND}) AS id OFFSET 0) p "
            "CROSS JOIN LATERAL (SELECT count(*) FROM recall.apply_plan(p.id, %s)) a",
            (NOW, NOW),
        ),
        "plan_prune": ("SELECT recall.plan_prune(p_max_share => 0.5, p_now => %s)", (LATER,)),
        "apply_plan: prune": (f"SELECT recall.apply_plan({plan}, %s)", (LATER,)),
        "undo_plan: prune": (
            f"SELECT recall.undo_plan({plan}, %s) "
            f"FROM (SELECT count(*) FROM recall.apply_plan({plan}, %s)) a",
            (LATER, LATER),
        ),
        "plan_erasure": ("SELECT recall.plan_erasure('{\"tag\": \"rope2\"}', 'me', %s)", (NOW,)),
        "apply_erasure": (f"SELECT recall.apply_erasure({erasure}, 'me', 500, %s)", (NOW,)),
        "refresh_statistics": ("SELECT recall.refresh_statistics(%s)", (NOW,)),
        "refresh_lexemes": ("SELECT recall.refresh_lexemes()", ()),
        "refresh_medians": ("SELECT recall.refresh_medians(%s)", (NOW,)),
        "refresh_vitality": ("SELECT recall.refresh_vitality(p_now => %s)", (LATER,)),
        "set_layer": ("SELECT recall.set_layer('entity', 0.4, p_now => %s)", (NOW,)),
        "drop_layer": (
            "SELECT recall.drop_layer('entity', %s) "
            "FROM (SELECT count(*) FROM recall.set_layer('entity', 0.4, p_now => %s)) s",
            (NOW, NOW),
        ),
        "set_language": ("SELECT recall.set_language('german')", ()),
        "use_preset": ("SELECT recall.use_preset((SELECT min(preset) FROM recall.presets()), %s)", (NOW,)),
        "refresh_graph": ("SELECT recall.refresh_graph(%s)", (NOW,)),
        "store_embeddings": (embedded, (vector(3), some)),
        "unembedded": ("SELECT recall.unembedded()", ()),
        "count_unembedded": ("SELECT recall.count_unembedded()", ()),
        "move_vectors_to_own_table": ("SELECT recall.move_vectors_to_own_table(0)", ()),
    }
