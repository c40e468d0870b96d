import { split } from "./pages.js";
import type { Transport } from "./transport.js";
import type {
  AtTime,
  CallOptions,
  DedupeOutcome,
  DedupePlan,
  DedupeRequest,
  DedupeSummary,
  DedupeUndone,
  Erasure,
  ErasurePlan,
  ErasureSignature,
  ErasureSummary,
  PlanSummary,
  PruneOutcome,
  PrunePlan,
  PruneRequest,
  PruneUndone,
  Reference,
} from "./types.js";

interface Limit {
  readonly limit?: number;
}

interface Page extends Limit {
  readonly offset?: number;
}

/** `memory.prune`: plans of what to archive. */
export class PruneGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Plans what to archive, with the reasons. Nothing is archived yet. */
  async plan(options: PruneRequest & CallOptions = {}): Promise<PrunePlan> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/prune/plans", { body: rest, call });
  }

  /** Reads a plan with a page of its items; `report.planned` counts all of them. */
  async get(plan: number, options: Page & CallOptions = {}): Promise<PrunePlan> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/prune/plans/{plan}", { path: { plan }, query: rest, call });
  }

  /** Lists plans, newest first. */
  async list(options: Limit & CallOptions = {}): Promise<readonly PlanSummary[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/prune/plans", { query: rest, call });
  }

  /** Archives the memories of a plan, or `only` some, except those accessed, linked or pinned since. */
  async apply(
    plan: number,
    options: { readonly only?: readonly number[] } & AtTime & CallOptions = {},
  ): Promise<PruneOutcome> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/prune/plans/{plan}/apply", { path: { plan }, query: rest, call });
  }

  /** Restores the memories that a plan archived. */
  async undo(plan: number, options: AtTime & CallOptions = {}): Promise<PruneUndone> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/prune/plans/{plan}/undo", { path: { plan }, query: rest, call });
  }
}

/** `memory.dedupe`: plans of which duplicates to merge. */
export class DedupeGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Compares what was not compared yet, and plans which duplicates to merge. Nothing is merged yet. */
  async plan(options: DedupeRequest & CallOptions = {}): Promise<DedupePlan> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/dedupe/plans", { body: rest, call });
  }

  /** Plans to merge memories that you name, by id or key, into one that stays. Nothing is merged yet. */
  async planMerge(
    keeper: Reference,
    memories: readonly Reference[],
    options: AtTime & CallOptions = {},
  ): Promise<DedupePlan> {
    const { call, rest } = split(options);
    const body = { keeper, memories: [...memories], ...rest };
    return this.#transport.send("post", "/v1/dedupe/merges", { body, call });
  }

  /** Reads a plan with a page of its clusters, and how the texts of each differ; `report.clusters` counts all. */
  async get(dedupe: number, options: Page & CallOptions = {}): Promise<DedupePlan> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/dedupe/plans/{dedupe}", { path: { dedupe }, query: rest, call });
  }

  /** Lists plans, newest first. */
  async list(options: Limit & CallOptions = {}): Promise<readonly DedupeSummary[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/dedupe/plans", { query: rest, call });
  }

  /** Merges the clusters of a plan, or some of them, except what has changed since. */
  async apply(
    dedupe: number,
    options: { readonly clusters?: readonly number[] } & AtTime & CallOptions = {},
  ): Promise<DedupeOutcome> {
    const { call, rest } = split(options);
    const request = { path: { dedupe }, query: rest, call };
    return this.#transport.send("post", "/v1/dedupe/plans/{dedupe}/apply", request);
  }

  /** Takes the merges of a plan back. */
  async undo(dedupe: number, options: AtTime & CallOptions = {}): Promise<DedupeUndone> {
    const { call, rest } = split(options);
    const request = { path: { dedupe }, query: rest, call };
    return this.#transport.send("post", "/v1/dedupe/plans/{dedupe}/undo", request);
  }
}

/** `memory.erasure`: all memories of a subject are deleted for good, by a plan, with a report. */
export class ErasureGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Plans which memories of a subject to delete for good. Nothing is deleted. */
  async plan(options: ErasurePlan & { readonly sample?: number } & CallOptions): Promise<Erasure> {
    const { call, rest } = split(options);
    const { sample, ...body } = rest;
    const query = sample === undefined ? {} : { sample };
    return this.#transport.send("post", "/v1/erasures", { body, query, call });
  }

  /** Reads an erasure: its plan, its progress, or its report. */
  async get(erasure: number, options: { readonly sample?: number } & CallOptions = {}): Promise<Erasure> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/erasures/{erasure}", { path: { erasure }, query: rest, call });
  }

  /** Lists erasures, newest first. */
  async list(options: Limit & CallOptions = {}): Promise<readonly ErasureSummary[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/erasures", { query: rest, call });
  }

  /** Deletes the next memories of an erasure; repeat it until the state is `done`. */
  async apply(erasure: number, options: ErasureSignature & CallOptions): Promise<Erasure> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/erasures/{erasure}/apply", { path: { erasure }, body: rest, call });
  }

  /** Removes an erasure that has not begun; returns it. */
  async drop(erasure: number, call: CallOptions = {}): Promise<Erasure> {
    return this.#transport.send("delete", "/v1/erasures/{erasure}", { path: { erasure }, call });
  }
}
