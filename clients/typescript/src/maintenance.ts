import type { operations } from "./openapi.js";
import { split } from "./pages.js";
import type { Transport } from "./transport.js";
import type {
  AtTime,
  CallOptions,
  Check,
  JobRun,
  JobStatus,
  Layer,
  LayerFields,
  Readiness,
  Setting,
} from "./types.js";

export type Preset = operations["use_preset"]["parameters"]["path"]["name"];

/** `memory.layers`: kinds of memories, and how fast they fade. */
export class LayersGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the layers that the tenant can use, by name. */
  async list(call: CallOptions = {}): Promise<readonly Layer[]> {
    return this.#transport.send("get", "/v1/layers", { call });
  }

  /** Creates or changes a layer; returns how many memories' vitality changes with it. */
  async set(name: string, options: LayerFields & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { path: { name }, body: rest, call, safe: true };
    return (await this.#transport.send("put", "/v1/layers/{name}", request)).count;
  }

  /** Drops the tenant's layer, so that the database's layer of this name applies again. */
  async drop(name: string, options: AtTime & CallOptions = {}): Promise<boolean> {
    const { call, rest } = split(options);
    const request = { path: { name }, query: rest, call };
    return (await this.#transport.send("delete", "/v1/layers/{name}", request)).changed;
  }

  /** Sets the layers to a preset; returns how many memories' vitality changes with them. */
  async usePreset(name: Preset, options: AtTime & CallOptions = {}): Promise<number> {
    const { call, rest } = split(options);
    const request = { path: { name }, query: rest, call, safe: true };
    return (await this.#transport.send("put", "/v1/layers/presets/{name}", request)).count;
  }
}

/** `memory.settings`: the numbers that tune the tenant. */
export class SettingsGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists all settings with the values that apply, by name. */
  async list(call: CallOptions = {}): Promise<readonly Setting[]> {
    return this.#transport.send("get", "/v1/settings", { call });
  }

  /** Sets a setting; returns the setting. */
  async set(name: string, value: number, call: CallOptions = {}): Promise<Setting> {
    const request = { path: { name }, body: { value }, call, safe: true };
    return this.#transport.send("put", "/v1/settings/{name}", request);
  }

  /** Removes the tenant's value, so that the database's applies again; returns the setting. */
  async reset(name: string, call: CallOptions = {}): Promise<Setting> {
    return this.#transport.send("delete", "/v1/settings/{name}", { path: { name }, call, safe: true });
  }
}

/** `memory.jobs`: what the worker does. */
export class JobsGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists all jobs with their interval, state and last run. */
  async list(options: AtTime & CallOptions = {}): Promise<readonly JobStatus[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/jobs", { query: rest, call });
  }

  /** Lists runs of all jobs or of one, newest first. */
  async runs(
    name?: string,
    options: { readonly limit?: number } & CallOptions = {},
  ): Promise<readonly JobRun[]> {
    const { call, rest } = split(options);
    const query = { ...rest, ...(name !== undefined && { name }) };
    return this.#transport.send("get", "/v1/jobs/runs", { query, call });
  }
}

/** `memory.maintenance`: checks of the data. */
export class MaintenanceGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Checks every invariant of the tenant's data; changes nothing. */
  async verify(options: AtTime & CallOptions = {}): Promise<readonly Check[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/maintenance/verify", { query: rest, call });
  }
}

/** `memory.service`: the process that answers; this needs no key. */
export class ServiceGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether the process answers; rejects if it does not. */
  async alive(call: CallOptions = {}): Promise<boolean> {
    return (await this.#transport.send("get", "/healthz", { call })).alive;
  }

  /** Whether database, schema and models can serve requests; if not, the problems. */
  async ready(call: CallOptions = {}): Promise<Readiness> {
    return this.#transport.send("get", "/readyz", { call });
  }

  /** Reads the metrics for Prometheus, as a text. */
  async metrics(call: CallOptions = {}): Promise<string> {
    return this.#transport.send("get", "/metrics", { call });
  }
}
