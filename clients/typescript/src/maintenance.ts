import type { Transport } from "./transport.js";
import type { CallOptions, Readiness } from "./types.js";

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
