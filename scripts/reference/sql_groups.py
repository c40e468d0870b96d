"""Which SQL functions are for people, by what one wants to do. Functions that are not here are internal.

A function is for people when a SQL-only user has a use for it. None of them takes the tenant as an
argument: it is that of the session.
"""

from __future__ import annotations

GROUPS: dict[str, str] = {
    "Tenant and language": "current_tenant languages set_language",
    "Remember": "remember remember_many edit get list_memories id_of pin forget unarchive keys_of_source "
    "forget_session unarchive_session projects rename_keys content_hashes",
    "Versions and changes": "versions diff_versions restore_version changes change_cursor expire_changes",
    "Search": "search search_and_log completed_query explain find log_shown similarities",
    "Use and feedback": "record_access record_accesses accesses_of used rejected feedback_by_memory "
    "feedback_by_rank feedback_qrels quality experiment unanswered_queries logged_searches explain_miss",
    "Links": "link unlink supersede successors derivations stale_summaries associates neighbourhood "
    "count_pending_links",
    "Vitality": "vitality explain_vitality vitality_as_of vitality_curve vitality_histogram zones_as_of "
    "zones_over_time overview",
    "Layers": "layers set_layer drop_layer presets use_preset",
    "Settings": "settings set_setting",
    "Relevance and rerankers": "relevance_models store_relevance_model reset_relevance_model rerank_models "
    "store_rerank_model reset_rerank_model",
    "Plans": "plan_prune prune_candidates find_duplicates plan_dedupe plan_merge stored_texts plan_redact "
    "plans get_plan apply_plan undo_plan drop_plan",
    "Imports": "store_imported rename_imported archive_imported imports unused_imports undo_import",
    "Erasures": "plan_erasure get_erasure erasures apply_erasure drop_erasure",
    "Jobs and maintenance": "fold_accesses refresh_vitality refresh_statistics refresh_lexemes "
    "refresh_medians resolve_pending_links refresh_graph unembedded count_unembedded "
    "store_embeddings begin_reembedding "
    "expire_memories expire_searches make_access_partitions move_vectors_to_own_table rebuild "
    "job_states job_runs run_due_job alarm_changes",
    "Export and import": "export_lines begin_import import_lines end_import",
    "State": "status health_report verify census schema_state installation tenants",
    "Roles (administrators, as the owner)": "bind_role unbind_role role_bindings caller access_problems",
    "Keys of the HTTP service": "create_key keys revoke_key key_holder has_active_key "
    "open_page_session page_session_tenant close_page_session "
    "open_grant find_grant exchange_grant close_grant grants end_grant",
    "Readers of a shared tenant": "add_reader readers remove_reader share",
}

OF_THE_CLIENT = frozenset(
    {
        "admit_tenant",
        "begin_job",
        "due_tenants",
        "end_job",
        "shortest_job_interval",
        "queries_without_names",
        "report_job",
        "require_memory",
    }
)
"""What only our own client and worker call."""


def public() -> list[str]:
    return [name for names in GROUPS.values() for name in names.split()]
