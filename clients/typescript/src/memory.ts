import { JobsGroup, KeysGroup, LayersGroup, MaintenanceGroup, MemoryMethods, SettingsGroup } from "./declared.js";
import { ErasureGroup, PlansGroup } from "./plans.js";
import { HistoryGroup, QualityGroup } from "./reports.js";
import { ServiceGroup } from "./maintenance.js";
import { ImportsGroup } from "./imports.js";
import type { operations } from "./openapi.js";
import { everyItem, split } from "./pages.js";
import { type ClientOptions, invalid, Transport } from "./transport.js";
import type {
  Access,
  AccessKind,
  AtTime,
  CallOptions,
  Changes,
  ContextBlock,
  ContextOptions,
  Draft,
  DraftFields,
  ListedMemory,
  Reference,
  Remembered,
  SearchOptions,
  SearchResult,
} from "./types.js";

/** Filters and order of a list; metadata as the object that memories must contain. */
export type ListOptions = Omit<NonNullable<operations["list_memories"]["parameters"]["query"]>, "metadata"> & {
  readonly metadata?: Readonly<Record<string, unknown>>;
};

/**
 * A tenant's memory, through the HTTP service.
 *
 * Methods are those of the Python client; fields have the names that they have in Python and in JSON. Times are
 * texts in ISO 8601. Every method takes `signal` and `timeout` among its options, and rejects with a `RecallError`.
 */
export class Memory extends MemoryMethods {
  readonly imports: ImportsGroup;
  readonly plans: PlansGroup;
  readonly erasure: ErasureGroup;
  readonly history: HistoryGroup;
  readonly quality: QualityGroup;
  readonly keys: KeysGroup;
  readonly layers: LayersGroup;
  readonly settings: SettingsGroup;
  readonly jobs: JobsGroup;
  readonly maintenance: MaintenanceGroup;
  readonly service: ServiceGroup;
  /** The session of searches, contexts and accesses that name none. */
  readonly sessionId: string | undefined;

  /**
   * Reads nothing and connects to nothing yet.
   *
   * @param options - how to reach the service, and the session if all calls belong to one.
   * @param transport - that of the client of which this is a view; for `session` alone.
   */
  constructor(options: ClientOptions & { readonly sessionId?: string } = {}, transport?: Transport) {
    super(transport ?? new Transport(options));
    this.sessionId = options.sessionId;
    this.imports = new ImportsGroup(this.transport);
    this.plans = new PlansGroup(this.transport);
    this.erasure = new ErasureGroup(this.transport);
    this.history = new HistoryGroup(this.transport);
    this.quality = new QualityGroup(this.transport);
    this.keys = new KeysGroup(this.transport);
    this.layers = new LayersGroup(this.transport);
    this.settings = new SettingsGroup(this.transport);
    this.jobs = new JobsGroup(this.transport);
    this.maintenance = new MaintenanceGroup(this.transport);
    this.service = new ServiceGroup(this.transport);
  }

  /** The same client for one conversation or task: it adds the session to searches, contexts and accesses. */
  session(sessionId: string): Memory {
    return new Memory({ sessionId }, this.transport);
  }

  /**
   * Stores a memory. One with the same key keeps the fields that are not given; an empty value clears one.
   * `changed` names the fields that changed, `similar` a memory that it nearly repeats.
   */
  async remember(body: string, options: DraftFields & CallOptions = {}): Promise<Remembered> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/memories", { body: { ...rest, body }, call });
  }

  /** Stores memories in one transaction: all of them or none. Without `keep`, existing ones are replaced as a whole. */
  async rememberMany(
    drafts: readonly Draft[],
    options: AtTime & { readonly keep?: boolean } & CallOptions = {},
  ): Promise<readonly Remembered[]> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/memories/batch", { body: { ...rest, drafts }, call });
  }

  /** Changes fields of a memory; those left out stay, and null empties a field. */
  async edit(memory: Reference, changes: Changes, options: AtTime & CallOptions = {}): Promise<Remembered> {
    const { call, rest } = split(options);
    const request = { path: { memory }, body: changes, query: rest, call };
    return this.transport.send("patch", "/v1/memories/{memory}", request);
  }

  /** Lists memories, newest first or by vitality. The next page is `after` the `cursor` of the last one. */
  async list(options: ListOptions & CallOptions = {}): Promise<readonly ListedMemory[]> {
    const { call, rest } = split(options);
    const { metadata, ...query } = rest;
    const wanted = metadata === undefined ? {} : { metadata: [JSON.stringify(metadata)] };
    return this.transport.send("get", "/v1/memories", { query: { ...query, ...wanted }, call });
  }

  /** Lists all memories that the filters let through, page by page; `limit` is the length of a page. */
  listAll(options: ListOptions & CallOptions = {}): AsyncGenerator<ListedMemory, void, undefined> {
    return everyItem(options.after ?? undefined, (after) =>
      this.list({ limit: 200, ...options, ...(after !== undefined && { after }) }),
    );
  }

  /** Searches memories, best first. What it shows is logged, unless `log` is false. */
  async search(query: string, options: SearchOptions & CallOptions = {}): Promise<SearchResult> {
    const { call, rest } = split(options);
    const body = { ...this.#session(), ...rest, query };
    return this.transport.send("post", "/v1/search", { body, call, safe: true });
  }

  /** Searches memories and returns them as one text for a prompt, within a budget of tokens. */
  async context(query: string, options: ContextOptions & CallOptions = {}): Promise<ContextBlock> {
    const { call, rest } = split(options);
    const body = { ...this.#session(), ...rest, query };
    return this.transport.send("post", "/v1/context", { body, call, safe: true });
  }

  /**
   * Records an access of a memory, which makes it livelier; false if its idempotency key was seen before.
   *
   * Without an idempotency key it gets one of its own, so that a repetition after a lost answer counts once.
   */
  async recordAccess(
    memory: Reference,
    kind: AccessKind = "read",
    options: Omit<Access, "memory" | "kind"> & AtTime & CallOptions = {},
  ): Promise<boolean> {
    const { now, at, session_id, idempotency_key, ...call } = options;
    const access: Access = {
      ...this.#session(),
      memory,
      kind,
      ...(at !== undefined && { at }),
      ...(session_id !== undefined && { session_id }),
      idempotency_key: idempotency_key ?? randomKey(),
    };
    const fresh = await this.recordAccesses([access], { ...call, ...(now !== undefined && { now }) });
    return fresh === 1 || (idempotency_key ?? undefined) === undefined;
  }

  /** Records accesses in one transaction; returns how many were not seen before, by idempotency key. */
  async recordAccesses(accesses: readonly Access[], options: AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const ours = accesses.map((access) => ({ ...this.#session(), ...access }));
    const safe = ours.every((access) => access.idempotency_key);
    const body = { ...rest, accesses: ours };
    return (await this.transport.send("post", "/v1/accesses", { body, call, safe })).count;
  }

  /** Marks memories that a search returned as used, which makes them livelier; returns how many verdicts are new. */
  async used(
    searchId: number | null,
    memories: Reference | readonly Reference[],
    options: AtTime & CallOptions = {},
  ): Promise<number> {
    return this.#verdict("/v1/feedback/used", searchId, memories, options);
  }

  /** Marks memories that a search returned as wrong answers; returns how many verdicts are new. */
  async rejected(
    searchId: number | null,
    memories: Reference | readonly Reference[],
    options: AtTime & CallOptions = {},
  ): Promise<number> {
    return this.#verdict("/v1/feedback/rejected", searchId, memories, options);
  }

  /** Keeps a memory out of prune plans, or ends that; false if it was so before. */
  async pin(memory: Reference, pinned = true, options: AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { path: { memory }, query: rest, call, safe: true };
    return (await this.transport.send(pinned ? "put" : "delete", "/v1/pins/{memory}", request)).changed;
  }

  async #verdict(
    path: "/v1/feedback/used" | "/v1/feedback/rejected",
    searchId: number | null,
    memories: Reference | readonly Reference[],
    options: AtTime & CallOptions,
  ): Promise<number> {
    if (searchId === null) {
      throw invalid("The search was not logged, so it takes no feedback.", "Search without `log: false`, with a key that may write.");
    }
    const { call, rest } = split(options);
    const named = typeof memories === "object" ? memories : [memories];
    const body = { ...rest, search_id: searchId, memories: named };
    return (await this.transport.send("post", path, { body, call })).count;
  }

  #session(): { readonly session_id?: string } {
    return this.sessionId === undefined ? {} : { session_id: this.sessionId };
  }
}

/** A key that nobody else has; what hands out UUIDs is missing in Node 18, and on pages without TLS. */
function randomKey(): string {
  const part = () => Math.random().toString(36).slice(2);
  return globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${part()}-${part()}`;
}
