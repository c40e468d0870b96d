import { everyItem, split } from "./pages.js";
import type { Transport } from "./transport.js";
import type {
  AtTime,
  CallOptions,
  Change,
  ChangeKind,
  FieldDifference,
  LayerStatus,
  Miss,
  MissOptions,
  Experiment,
  Quality,
  Reference,
  Remembered,
  Replay,
  ReplayOptions,
  Version,
  VitalityTerms,
} from "./types.js";

/** Which changes to read. */
export interface ChangesOptions {
  /** `cursor` of the last change that was read; without one it begins with the first that is kept. */
  readonly since?: string;
  readonly kinds?: readonly ChangeKind[];
  readonly limit?: number;
}

/** `memory.versions`: what a memory said before. */
export class VersionsGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists what a memory said, newest first, the present first of all; `before` a number, the next page. */
  async list(
    memory: Reference,
    options: { readonly limit?: number; readonly before?: number } & CallOptions = {},
  ): Promise<readonly Version[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/versions/{memory}", { path: { memory }, query: rest, call });
  }

  /** Compares two versions of a memory, or one with the present; texts also word by word. */
  async diff(
    memory: Reference,
    earlier: number,
    later?: number,
    call: CallOptions = {},
  ): Promise<readonly FieldDifference[]> {
    const query = { earlier, ...(later !== undefined && { later }) };
    return this.#transport.send("get", "/v1/differences/{memory}", { path: { memory }, query, call });
  }

  /** Makes a memory say again what it said in a version; what it says now becomes a version in turn. */
  async restore(memory: Reference, version: number, options: AtTime & CallOptions = {}): Promise<Remembered> {
    const { call, rest } = split(options);
    const request = { path: { memory }, body: { ...rest, version }, call };
    return this.#transport.send("put", "/v1/versions/{memory}", request);
  }
}

/** `memory.changes`: what changed since a cursor. */
export class ChangesGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads the next changes, in order; none is lost or comes twice. */
  async list(options: ChangesOptions & CallOptions = {}): Promise<readonly Change[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/changes", { query: rest, call });
  }

  /** Reads all changes up to the present, page by page; `limit` is the length of a page. */
  listAll(options: ChangesOptions & CallOptions = {}): AsyncGenerator<Change, void, undefined> {
    return everyItem(options.since, (since) =>
      this.list({ limit: 500, ...options, ...(since !== undefined && { since }) }),
    );
  }

  /** Returns the cursor after the last change. */
  async cursor(call: CallOptions = {}): Promise<string> {
    return (await this.#transport.send("get", "/v1/changes/cursor", { call })).cursor;
  }
}

/** `memory.history`: the past of vitality. */
export class HistoryGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Computes every term of a memory's vitality, as of a time. */
  async vitality(
    memory: Reference,
    options: { readonly at?: string } & CallOptions = {},
  ): Promise<VitalityTerms> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/history/vitality/{memory}", { path: { memory }, query: rest, call });
  }

  /** Counts memories by layer and zone, as of a time. */
  async zones(at: string, call: CallOptions = {}): Promise<readonly LayerStatus[]> {
    return this.#transport.send("get", "/v1/history/zones", { query: { at }, call });
  }
}

/** `memory.quality`: how good searches are. */
export class QualityGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reports how often hits of searches were used, and which queries had no answer. */
  async report(
    options: { readonly since?: string; readonly limit?: number; readonly unanswered?: number } & CallOptions = {},
  ): Promise<Quality> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/quality", { query: rest, call });
  }

  /** Reports how often hits were used in each arm of a randomised experiment, and the conclusion. */
  async experiment(
    options: { readonly number?: number; readonly difference?: number } & CallOptions = {},
  ): Promise<Experiment> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/quality/experiment", { query: rest, call });
  }

  /** Tells why a search does not show a memory. */
  async miss(query: string, memory: Reference, options: MissOptions & CallOptions = {}): Promise<Miss> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/quality/miss", { body: { ...rest, query, memory }, call, safe: true });
  }

  /** Replays logged queries with other settings, and reports which results would change. Changes nothing. */
  async replay(options: ReplayOptions & CallOptions = {}): Promise<Replay> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/quality/replay", { body: rest, call, safe: true });
  }
}
