import * as declared from "./declared.js";
import { split } from "./pages.js";

import type {
  CallOptions,
  DedupePlan,
  DedupeRequest,
  Erasure,
  ErasurePlan,
  ErasureSignature,
  Plan,
  PrunePlan,
  PruneRequest,
} from "./types.js";

interface Limit {
  readonly limit?: number;
}

interface Page extends Limit {
  readonly offset?: number;
}

/** `memory.plans`: what to archive, merge or redact, planned, reviewed, applied, undone and dropped. */
export class PlansGroup extends declared.PlansGroup {
  /** Plans which unused memories to archive, with the reasons. Nothing is archived yet. */
  async prune(options: PruneRequest & CallOptions = {}): Promise<PrunePlan> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/plans/prune", { body: rest, call });
  }

  /** Compares what was not compared yet, and plans which duplicates to merge. Nothing is merged yet. */
  async dedupe(options: DedupeRequest & CallOptions = {}): Promise<DedupePlan> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/plans/dedupe", { body: rest, call });
  }

  /** Reads a plan with a page of its `clusters` (`kind` is `dedupe`) or `items` (others). */
  async get(plan: number, options: Page & CallOptions = {}): Promise<Plan> {
    const { call, rest } = split(options);
    return this.transport.send("get", "/v1/plans/{plan}", { path: { plan }, query: rest, call });
  }
}

/** `memory.erasure`: all memories of a subject are deleted for good, by a plan, with a report. */
export class ErasureGroup extends declared.ErasureGroup {
  /** Plans which memories of a subject to delete for good. Nothing is deleted. */
  async plan(options: ErasurePlan & { readonly sample?: number } & CallOptions): Promise<Erasure> {
    const { call, rest } = split(options);
    const { sample, ...body } = rest;
    const query = sample === undefined ? {} : { sample };
    return this.transport.send("post", "/v1/erasures", { body, query, call });
  }

  /** Deletes the next memories of an erasure; repeat it until the state is `done`. */
  async apply(erasure: number, options: ErasureSignature & CallOptions): Promise<Erasure> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/erasures/{erasure}/apply", { path: { erasure }, body: rest, call });
  }

  /** Removes an erasure that has not begun; returns it. */
  async drop(erasure: number, call: CallOptions = {}): Promise<Erasure> {
    return this.transport.send("delete", "/v1/erasures/{erasure}", { path: { erasure }, call });
  }
}
