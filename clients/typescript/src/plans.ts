import { split } from "./pages.js";
import type { Transport } from "./transport.js";
import type {
  AtTime,
  CallOptions,
  DedupePlan,
  DedupeRequest,
  Erasure,
  ErasurePlan,
  ErasureSignature,
  ErasureSummary,
  Plan,
  PlanOutcome,
  PlanSummary,
  PlanUndone,
  PrunePlan,
  PruneRequest,
  Reference,
} from "./types.js";

interface Limit {
  readonly limit?: number;
}

interface Page extends Limit {
  readonly offset?: number;
}

/** `memory.plans`: what to archive or merge, planned, reviewed, applied, undone and dropped. */
export class PlansGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Plans which unused memories to archive, with the reasons. Nothing is archived yet. */
  async prune(options: PruneRequest & CallOptions = {}): Promise<PrunePlan> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/plans/prune", { body: rest, call });
  }

  /** Compares what was not compared yet, and plans which duplicates to merge. Nothing is merged yet. */
  async dedupe(options: DedupeRequest & CallOptions = {}): Promise<DedupePlan> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/plans/dedupe", { body: rest, call });
  }

  /** Plans to merge memories that you name, by id or key, into one that stays. Nothing is merged yet. */
  async merge(
    keeper: Reference,
    memories: readonly Reference[],
    options: AtTime & CallOptions = {},
  ): Promise<DedupePlan> {
    const { call, rest } = split(options);
    const body = { keeper, memories: [...memories], ...rest };
    return this.#transport.send("post", "/v1/plans/merge", { body, call });
  }

  /** Reads a plan with a page of its `items` (`kind` is `prune`) or `clusters` (`dedupe`). */
  async get(plan: number, options: Page & CallOptions = {}): Promise<Plan> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/plans/{plan}", { path: { plan }, query: rest, call });
  }

  /** Lists plans, newest first. */
  async list(
    options: { readonly kind?: Plan["kind"] } & Limit & CallOptions = {},
  ): Promise<readonly PlanSummary[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/plans", { query: rest, call });
  }

  /** Archives or merges the memories of a plan, except what has changed since; `parts` names memories or clusters. */
  async apply(
    plan: number,
    options: { readonly parts?: readonly number[] } & AtTime & CallOptions = {},
  ): Promise<PlanOutcome> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/plans/{plan}/apply", { path: { plan }, query: rest, call });
  }

  /** Restores the memories that a plan archived or merged. */
  async undo(plan: number, options: AtTime & CallOptions = {}): Promise<PlanUndone> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/plans/{plan}/undo", { path: { plan }, query: rest, call });
  }

  /** Removes a plan that was never applied. */
  async drop(plan: number, call: CallOptions = {}): Promise<boolean> {
    const answer = await this.#transport.send("delete", "/v1/plans/{plan}", { path: { plan }, call });
    return answer.changed;
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
