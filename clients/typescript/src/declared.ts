/** Made by `python -m scripts.openapi` from the methods that the Python client declares; do not edit. */
import type { components } from "./openapi.js";
import { split } from "./pages.js";
import { referenceText, type Transport } from "./transport.js";
import type {
  AtTime,
  CallOptions,
  Change,
  Check,
  DedupePlan,
  Erasure,
  ErasureSummary,
  Experiment,
  FieldDifference,
  ImportSummary,
  ImportUndone,
  JobRun,
  JobStatus,
  Layer,
  LayerStatus,
  PlanOutcome,
  PlanSummary,
  PlanUndone,
  Quality,
  Reference,
  Remembered,
  Replay,
  Setting,
  Status,
  StoredMemory,
  Version,
} from "./types.js";

export type OpenGrant = components["schemas"]["OpenGrant"];

export type RedactPlan = components["schemas"]["RedactPlan"];

export type Shared = components["schemas"]["Shared"];

export type StaleSummary = components["schemas"]["StaleSummary"];

export type UnusedImport = components["schemas"]["UnusedImport"];

/** Deletes all memories of a subject for good: of an author, a session, a tag, a source, or keys. */
export class ErasureGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * Read an erasure: its plan, its progress, or its report.
   *
   * @returns The erasure.
   */
  async get(erasure: number, options: { readonly sample?: number } & CallOptions = {}): Promise<Erasure> {
    const { call, rest } = split(options);
    const request = { path: { erasure }, query: rest, call };
    return this.transport.send("get", "/v1/erasures/{erasure}", request);
  }

  /**
   * List erasures and their states, newest first.
   *
   * @returns A summary of each erasure.
   */
  async list(options: { readonly limit?: number } & CallOptions = {}): Promise<readonly ErasureSummary[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/erasures", request);
  }
}

/** The past: the text and fields of memories before each change, all changes in their order, and vitality. */
export class HistoryGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * List the versions of a memory, newest first, beginning with the current one.
   *
   * A page has at most 16 MB of texts and metadata, so it may end before its limit. For the next one, give
   * the number of the last version as `before`.
   *
   * @returns The versions, each with its time, role and interface.
   */
  async versions(memory: Reference, options: { readonly limit?: number; readonly before?: number } & CallOptions = {}): Promise<readonly Version[]> {
    const { call, rest } = split(options);
    const request = { path: { memory }, query: rest, call };
    return this.transport.send("get", "/v1/versions/{memory}", request);
  }

  /**
   * Compare two versions of a memory, or one with the current one; texts also word by word.
   *
   * What differs between very long texts is shown as a whole.
   *
   * @returns The fields that differ, with both values.
   */
  async diff(memory: Reference, earlier: number, later?: number, call: CallOptions = {}): Promise<readonly FieldDifference[]> {
    const request = { path: { memory }, query: { earlier, ...(later !== undefined && { later }) }, call };
    return this.transport.send("get", "/v1/differences/{memory}", request);
  }

  /**
   * Restore the text and fields of a version; what they replace becomes a version.
   *
   * Its layer, links, pin and accesses stay, and an archived memory stays archived.
   *
   * @returns Its id and key, and whether it was updated, or unchanged because it already has this text.
   */
  async restore(memory: Reference, version: number, options: AtTime & CallOptions = {}): Promise<Remembered> {
    const { call, rest } = split(options);
    const request = { path: { memory }, body: { ...rest, version }, call };
    return this.transport.send("put", "/v1/versions/{memory}", request);
  }

  /**
   * Read the next changes since a cursor, in order; none is lost or repeated.
   *
   * The list is empty while nothing has changed. A change appears once all transactions
   * of the server that began before it have ended.
   *
   * @returns The changes, each with the cursor after it.
   */
  async changes(options: { readonly since?: string; readonly limit?: number; readonly kinds?: readonly ("new" | "rewritten" | "archived" | "restored" | "superseded" | "merged" | "deleted" | "risen" | "faded")[] } & CallOptions = {}): Promise<readonly Change[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/changes", request);
  }

  /**
   * Count the live memories of each layer in each zone at a time in the past.
   *
   * @returns Counts of all layers.
   */
  async zones(at: string, call: CallOptions = {}): Promise<readonly LayerStatus[]> {
    const request = { query: { at }, call };
    return this.transport.send("get", "/v1/history/zones", request);
  }
}

/** Lists and undoes imports that stored, changed or archived something. */
export class ImportsGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * List imports that changed something, newest first: what each stored, changed and archived.
   *
   * @returns What each did when it ran.
   */
  async list(options: { readonly limit?: number; readonly source?: string } & CallOptions = {}): Promise<readonly ImportSummary[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/imports", request);
  }

  /**
   * List live memories that an import added and that were never used since, newest first.
   *
   * @returns The memories, each with the time of its import.
   */
  async unused(options: { readonly limit?: number } & CallOptions = {}): Promise<readonly UnusedImport[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/imports/unused", request);
  }

  /**
   * Undo an import: what it changed or archived is restored, what it added deleted.
   *
   * Changed memories get back their earlier text, fields, links and key. Added ones are deleted for good;
   * one that was used or linked since is archived instead. What was changed since stays, and is named.
   * Restored texts have no vectors until the job `embed` makes them.
   *
   * @returns What was undone, and what was kept and why.
   */
  async undo(importId?: number, options: { readonly source?: string } & AtTime & CallOptions = {}): Promise<ImportUndone> {
    const { call, rest } = split(options);
    const request = { query: { ...rest, ...(importId !== undefined && { import_id: importId }) }, call };
    return this.transport.send("post", "/v1/imports/undo", request);
  }
}

/** Maintenance jobs, which a worker runs and which can be run by hand. */
export class JobsGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * List every job: what it does, how often, when it ran last, and its state.
   *
   * @returns The state of each job.
   */
  async list(options: AtTime & CallOptions = {}): Promise<readonly JobStatus[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/jobs", request);
  }

  /**
   * List the newest runs for this tenant and for the whole database, newest first.
   *
   * @returns Each run with its outcome, and its error if it failed.
   */
  async runs(name?: string, options: { readonly limit?: number } & CallOptions = {}): Promise<readonly JobRun[]> {
    const { call, rest } = split(options);
    const request = { query: { ...rest, ...(name !== undefined && { name }) }, call };
    return this.transport.send("get", "/v1/jobs/runs", request);
  }
}

/** Keys that let their holder act for this tenant over HTTP. */
export class KeysGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * List the OAuth grants of this tenant: which programs may use its keys, and for what.
   *
   * @returns The grants that have not ended, by key; without tokens.
   */
  async grants(call: CallOptions = {}): Promise<readonly OpenGrant[]> {
    const request = { call };
    return this.transport.send("get", "/v1/grants", request);
  }

  /**
   * End an OAuth grant and all of its tokens. The next request of its program is refused.
   *
   * @returns Whether there was one.
   */
  async endGrant(grant: string, call: CallOptions = {}): Promise<boolean> {
    const request = { path: { grant }, call };
    return (await this.transport.send("delete", "/v1/grants/{grant}", request)).changed;
  }
}

/** The layers of a tenant. Its own rates take precedence over the database's, and these over the defaults. */
export class LayersGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * List the layers that this tenant can use, by name, and how fast each forgets.
   *
   * @returns The layers with their rates and zones, and where each is defined.
   */
  async list(call: CallOptions = {}): Promise<readonly Layer[]> {
    const request = { call };
    return this.transport.send("get", "/v1/layers", request);
  }

  /**
   * Create or changes a layer of this tenant. What is not given stays as it is.
   *
   * The new rates apply to its memories from the time they were stored. A new birth weight applies to
   * memories stored from now on.
   *
   * @returns How many memories now age differently.
   */
  async set(name: string, options: { readonly metabolic_rate?: number | null; readonly reading?: "clock" | "exponent" | null; readonly base_decay?: number | null; readonly birth_weight?: number | null; readonly active?: number | null; readonly stale?: number | null; readonly fading?: number | null; readonly profile?: string | null } & AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { path: { name }, body: rest, call, safe: true };
    return (await this.transport.send("put", "/v1/layers/{name}", request)).count;
  }

  /**
   * Drop this tenant's own layer, so that the database's applies again.
   *
   * @returns Whether the tenant had a layer of its own.
   */
  async drop(name: string, options: AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { path: { name }, query: rest, call };
    return (await this.transport.send("delete", "/v1/layers/{name}", request)).changed;
  }

  /**
   * Set this tenant's layers and settings to those of a preset; its other layers stay as they are.
   *
   * @returns How many memories now age differently.
   */
  async usePreset(name: "default" | "seed" | "calibrated", options: AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { path: { name }, query: rest, call, safe: true };
    return (await this.transport.send("put", "/v1/layers/presets/{name}", request)).count;
  }
}

/** Maintenance of a tenant, which a worker does too; imports do the necessary parts at their end. */
export class MaintenanceGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * Check every invariant of this tenant's data; changes nothing.
   *
   * @returns Each check, with the number of violations and up to five examples.
   */
  async verify(options: AtTime & CallOptions = {}): Promise<readonly Check[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/maintenance/verify", request);
  }
}

/** Archives memories that are no longer used, merges duplicates, and replaces stored secrets. */
export class PlansGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * Plan to merge memories that you name, even if their texts differ. Nothing is merged yet.
   *
   * @returns The dedupe plan, which has one cluster.
   */
  async merge(keeper: Reference, memories: readonly Reference[], options: AtTime & CallOptions = {}): Promise<DedupePlan> {
    const { call, rest } = split(options);
    const request = { body: { ...rest, keeper, memories }, call };
    return this.transport.send("post", "/v1/plans/merge", request);
  }

  /**
   * Plan to replace passwords, keys and tokens in stored texts; nothing is replaced yet.
   *
   * Reads everything that memories hold, archived ones and earlier versions too: texts, keys, sessions,
   * metadata, pending links. The plan says where secrets are, never what they are.
   *
   * @returns The redact plan: of at most 1,000 memories, where secrets are and of what kind.
   */
  async redact(options: AtTime & CallOptions = {}): Promise<RedactPlan> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("post", "/v1/plans/redact", request);
  }

  /**
   * List plans and their states, newest first.
   *
   * @returns A summary of each plan.
   */
  async list(options: { readonly limit?: number; readonly kind?: "prune" | "dedupe" | "redact" } & CallOptions = {}): Promise<readonly PlanSummary[]> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/plans", request);
  }

  /**
   * Carry out a plan, or parts of it: archives, merges or redacts memories that did not change since.
   *
   * Each memory is checked again. One that was rewritten since is skipped with a note, and, except in a
   * redact plan, one that was pinned or archived. So is a memory of a prune plan that was used or linked
   * since or that something now depends on, and a memory of a dedupe plan that was superseded since or
   * whose keeper is skipped. A plan is applied once.
   *
   * @returns The outcome of each memory.
   */
  async apply(plan: number, options: { readonly parts?: readonly number[] } & AtTime & CallOptions = {}): Promise<PlanOutcome> {
    const { call, rest } = split(options);
    const request = { path: { plan }, query: rest, call };
    return this.transport.send("post", "/v1/plans/{plan}/apply", request);
  }

  /**
   * Restore the memories that a plan archived or merged, except those restored since.
   *
   * Later accesses, links and texts of what they were merged into stay. Undoing a redact plan puts the
   * secrets back into texts that have not changed since.
   *
   * @returns How many memories were restored, and how many had been restored before.
   */
  async undo(plan: number, options: AtTime & CallOptions = {}): Promise<PlanUndone> {
    const { call, rest } = split(options);
    const request = { path: { plan }, query: rest, call };
    return this.transport.send("post", "/v1/plans/{plan}/undo", request);
  }

  /**
   * Remove a plan that was never applied, or a redact plan.
   *
   * With a redact plan that was applied, what was kept to undo it is deleted for good.
   *
   * @returns True; anything else is an error.
   */
  async drop(plan: number, call: CallOptions = {}): Promise<boolean> {
    const request = { path: { plan }, call };
    return (await this.transport.send("delete", "/v1/plans/{plan}", request)).changed;
  }
}

/** Reports about the log of searches, which only read; and coefficients fitted to judged queries. */
export class QualityGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * Report how often hits of searches were used, by rank, and which queries had no answer.
   *
   * Uses are known from verdicts (`memory.used`), and for searches in a session from accesses of
   * kind `used` or `read` in it, within the setting `association.window_minutes`.
   *
   * @returns Shares by rank with intervals, and the unanswered queries.
   */
  async report(options: { readonly since?: string; readonly limit?: number; readonly unanswered?: number } & CallOptions = {}): Promise<Quality> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/quality", request);
  }

  /**
   * Report how often hits were used in each arm of a randomised experiment, and the conclusion.
   *
   * The setting `search.experiment` begins it. Chance then gives each session one of three arms: without
   * vitality, with its default weight, or with `search.experiment_weight`. Every session counts,
   * even one without a known use. Intervals are those of Wilson (1927) and, for differences, of Newcombe
   * (1998, method 10).
   *
   * @returns The arms with their intervals, and a conclusion, or the reason why there is none.
   */
  async experiment(options: { readonly number?: number; readonly difference?: number } & CallOptions = {}): Promise<Experiment> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/quality/experiment", request);
  }

  /**
   * Replay logged queries with other settings: which results would change. Nothing is changed.
   *
   * They are asked as of then, with today's settings and with changed ones. For searches with a known use,
   * it says whether the used memory would rank higher. Filters are not in the log, so the queries are
   * asked without. Nothing is logged.
   *
   * @returns What would change, and the mean change of the reciprocal rank of used memories.
   */
  async replay(options: { readonly k?: number; readonly since?: string | null; readonly until?: string | null; readonly limit?: number; readonly moved?: number; readonly weights?: Readonly<Record<string, number>> | null; readonly vitality_mode?: "odds" | "unbounded" | "multiply" | "bounded" | "off" | null; readonly vitality_weight?: number | null; readonly profile?: string | null } & CallOptions = {}): Promise<Replay> {
    const { call, rest } = split(options);
    const request = { body: rest, call, safe: true };
    return this.transport.send("post", "/v1/quality/replay", request);
  }
}

/** The numbers that a tenant can tune, and its language. `configuration` has the settings of the client. */
export class SettingsGroup {
  constructor(protected readonly transport: Transport) {}

  /**
   * List every setting: its value for this tenant, where that comes from, default, bounds and meaning.
   *
   * @returns The settings.
   */
  async list(call: CallOptions = {}): Promise<readonly Setting[]> {
    const request = { call };
    return this.transport.send("get", "/v1/settings", request);
  }

  /**
   * Set a setting for this tenant.
   *
   * @returns The setting.
   */
  async set(name: string, value: number, call: CallOptions = {}): Promise<Setting> {
    const request = { path: { name }, body: { value }, call, safe: true };
    return this.transport.send("put", "/v1/settings/{name}", request);
  }

  /**
   * Remove this tenant's own value, so that the database's or the default applies again.
   *
   * @returns The setting.
   */
  async reset(name: string, call: CallOptions = {}): Promise<Setting> {
    const request = { path: { name }, call, safe: true };
    return this.transport.send("delete", "/v1/settings/{name}", request);
  }
}

/** The declared methods of a memory. */
export class MemoryMethods {
  constructor(protected readonly transport: Transport) {}

  /**
   * Link two memories.
   *
   * @returns Whether the link is new.
   */
  async link(source: Reference, target: Reference, relation: string = "links_to", options: { readonly weight?: number } & AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { body: { ...rest, source, target, relation }, call, safe: true };
    return (await this.transport.send("post", "/v1/links", request)).changed;
  }

  /**
   * Remove links from one memory to another; one that is no longer superseded is found again.
   *
   * Searches of past times still use them.
   *
   * @returns How many links were removed.
   */
  async unlink(source: Reference, target: Reference, relation?: string, options: AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { query: { ...rest, source: referenceText(source), target: referenceText(target), ...(relation !== undefined && { relation }) }, call, safe: true };
    return (await this.transport.send("delete", "/v1/links", request)).count;
  }

  /**
   * Replace a memory by another; searches then omit the old one by default.
   *
   * @returns Whether that is new.
   */
  async supersede(old: Reference, replacement: Reference, options: AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { body: { ...rest, old, new: replacement }, call, safe: true };
    return (await this.transport.send("post", "/v1/supersede", request)).changed;
  }

  /**
   * List the summaries whose sources have changed or were forgotten since.
   *
   * A summary has `derived_from` links to its sources. Its author should write it again.
   *
   * @returns The summaries by id, each with how many of its sources changed after it or were forgotten.
   */
  async staleSummaries(limit: number = 100, options: { readonly after?: number } & CallOptions = {}): Promise<readonly StaleSummary[]> {
    const { call, rest } = split(options);
    const request = { query: { ...rest, limit }, call };
    return this.transport.send("get", "/v1/summaries/stale", request);
  }

  /**
   * Archive a memory, so that search leaves it out by default. With `hard` it is deleted for good.
   *
   * @returns Whether anything changed.
   */
  async forget(memory: Reference, options: { readonly hard?: boolean } & AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { path: { memory }, query: rest, call };
    return (await this.transport.send("delete", "/v1/memories/{memory}", request)).changed;
  }

  /**
   * Archive the memories of a session, so that search leaves them out by default.
   *
   * @returns How many memories were archived, or with `dry_run` would be.
   */
  async forgetSession(sessionId: string, options: { readonly dry_run?: boolean } & AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { body: { ...rest, session_id: sessionId }, call };
    return (await this.transport.send("post", "/v1/forget-session", request)).count;
  }

  /**
   * Restore the memories of a session that were archived when it was last forgotten.
   *
   * @returns How many memories were restored.
   */
  async unarchiveSession(sessionId: string, options: AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { body: { ...rest, session_id: sessionId }, call };
    return (await this.transport.send("post", "/v1/unarchive-session", request)).count;
  }

  /**
   * Restore an archived memory, with its links and accesses.
   *
   * @returns Whether it was archived.
   */
  async unarchive(memory: Reference, options: AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { path: { memory }, query: rest, call };
    return (await this.transport.send("post", "/v1/unarchive/{memory}", request)).changed;
  }

  /**
   * Read a memory with its vitality and its links. It does not count as an access.
   *
   * @returns All its fields, with every term of its vitality.
   */
  async get(memory: Reference, options: AtTime & CallOptions = {}): Promise<StoredMemory> {
    const { call, rest } = split(options);
    const request = { path: { memory }, query: rest, call };
    return this.transport.send("get", "/v1/memories/{memory}", request);
  }

  /**
   * Copy a memory into another tenant, which has allowed it with `readers add --may-share`.
   *
   * The copy has the text, tags, role, author, layer and time of the event; `origin` in its metadata
   * names the memory it was copied from. Passwords, keys and tokens are replaced by placeholders, and a
   * directive becomes a statement. Sharing a memory again updates its copy.
   *
   * @returns The id and the key of the copy, and whether it was created, updated or unchanged.
   */
  async share(memory: Reference, to: string, options: AtTime & CallOptions = {}): Promise<Shared> {
    const { call, rest } = split(options);
    const request = { path: { memory }, body: { ...rest, to }, call, safe: true };
    return this.transport.send("post", "/v1/share/{memory}", request);
  }

  /**
   * Read the state of this tenant: counts, vitality, jobs, and alarms that need attention.
   *
   * @returns Counts by layer and zone, jobs, alarms, versions, and the lag of a replica if there is one.
   */
  async status(options: AtTime & CallOptions = {}): Promise<Status> {
    const { call, rest } = split(options);
    const request = { query: rest, call };
    return this.transport.send("get", "/v1/status", request);
  }
}
