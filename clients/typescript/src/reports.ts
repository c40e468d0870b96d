import * as declared from "./declared.js";
import { everyItem, split } from "./pages.js";

import type { CallOptions, Change, ChangeKind, Miss, MissOptions, Reference, VitalityTerms } from "./types.js";

/** Which changes to read. */
export interface ChangesOptions {
  /** `cursor` of the last change that was read; without one it begins with the first that is kept. */
  readonly since?: string;
  readonly kinds?: readonly ChangeKind[];
  readonly limit?: number;
}

/** `memory.history`: versions, changes, and vitality in the past. */
export class HistoryGroup extends declared.HistoryGroup {
  /** Reads all changes up to the present, page by page; `limit` is the length of a page. */
  allChanges(options: ChangesOptions & CallOptions = {}): AsyncGenerator<Change, void, undefined> {
    return everyItem(options.since, (since) =>
      this.changes({ limit: 500, ...options, ...(since !== undefined && { since }) }),
    );
  }

  /** Returns the cursor after the last change. */
  async cursor(call: CallOptions = {}): Promise<string> {
    return (await this.transport.send("get", "/v1/changes/cursor", { call })).cursor;
  }

  /** Computes every term of a memory's vitality, as of a time. */
  async vitality(
    memory: Reference,
    options: { readonly at?: string } & CallOptions = {},
  ): Promise<VitalityTerms> {
    const { call, rest } = split(options);
    return this.transport.send("get", "/v1/history/vitality/{memory}", { path: { memory }, query: rest, call });
  }
}

/** `memory.quality`: how good searches are. */
export class QualityGroup extends declared.QualityGroup {
  /** Tells why a search does not show a memory. */
  async miss(query: string, memory: Reference, options: MissOptions & CallOptions = {}): Promise<Miss> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/quality/miss", { body: { ...rest, query, memory }, call, safe: true });
  }
}
