import { CallTimeout, ConnectionFailed, errorOf, InvalidInput, RecallError, ServiceError } from "./errors.js";
import type { paths } from "./openapi.js";
import type { CallOptions, Problem, Reference } from "./types.js";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** The paths that have a method. */
type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { readonly [K in M]: { readonly responses: unknown } } ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends keyof paths> = paths[P] extends { readonly [K in M]: infer O } ? O : never;

type PathOf<O> = O extends { readonly parameters: { readonly path: infer Values } }
  ? { readonly path: { readonly [Name in keyof Values]: Reference } }
  : { readonly path?: undefined };

/** The bytes of a file, as `fetch` sends them. */
export type FileBody = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>;

type BodyOf<O> = O extends { readonly requestBody: { readonly content: { readonly "application/json": infer Body } } }
  ? { readonly body: Body; readonly file?: undefined }
  : O extends { readonly requestBody: { readonly content: { readonly "application/octet-stream": unknown } } }
    ? { readonly file: FileBody; readonly body?: undefined }
    : { readonly body?: undefined; readonly file?: undefined };

/** The query; text parameters that name a memory are given as in a path. */
type QueryOf<O> = O extends { readonly parameters: { readonly query: infer Query } }
  ? { readonly query: Query }
  : O extends { readonly parameters: { readonly query?: infer Query } }
    ? { readonly query?: Query }
    : { readonly query?: undefined };

type ResultOf<O> = O extends { readonly responses: { readonly 200: { readonly content: infer Content } } }
  ? Content[keyof Content]
  : never;

interface Sending {
  readonly call: CallOptions;
  /** The call may be sent twice: what it does twice is the same as once. */
  readonly safe?: boolean;
}

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** How a client reaches its service. */
export interface ClientOptions {
  /** Address of the service; otherwise `PGRECALL_SERVICE_URL`, otherwise `http://127.0.0.1:8766`. */
  readonly baseUrl?: string;
  /** A key made by `pgrecall keys create`; otherwise `PGRECALL_KEY`. Empty: none. */
  readonly key?: string;
  /** Milliseconds that a call may take with its repetitions (30,000); 0 for no limit. */
  readonly timeout?: number;
  /** How often a call that failed is repeated where that is safe (2). */
  readonly retries?: number;
  /** Further headers of every request, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What sends the requests, instead of the global `fetch`. */
  readonly fetch?: Fetch;
}

const DEFAULT_URL = "http://127.0.0.1:8766";
const DEFAULT_TIMEOUT = 30_000;
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 5_000;
/** Seconds; a service that asks for more patience is not called again. */
const LONGEST_RETRY_AFTER = 30;

/** Problems of requests that the service refused before it did anything. */
const NOTHING_DONE = new Set(["service-unavailable", "database-busy", "tenant-elsewhere"]);

/** Sends requests, reads answers, and repeats what may be repeated. */
export class Transport {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: Fetch;

  constructor(options: ClientOptions) {
    this.#base = addressOf(options.baseUrl ?? (environment("PGRECALL_SERVICE_URL") || DEFAULT_URL));
    const key = options.key ?? environment("PGRECALL_KEY");
    this.#headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
    this.#timeout = notNegative("timeout", options.timeout ?? DEFAULT_TIMEOUT);
    this.#retries = notNegative("retries", options.retries ?? 2);
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Sends a request of the OpenAPI document and returns its answer. */
  async send<M extends Method, P extends PathsOf<M>>(
    method: M,
    path: P,
    request: PathOf<Operation<M, P>> & BodyOf<Operation<M, P>> & QueryOf<Operation<M, P>> & Sending,
  ): Promise<ResultOf<Operation<M, P>>> {
    const address = this.#base + filled(path, request.path ?? {}) + queryText(request.query ?? {});
    const init: RequestInit = { method: method.toUpperCase(), headers: this.#headers, redirect: "error" };
    if (request.body !== undefined) {
      init.body = JSON.stringify(request.body);
      init.headers = { ...this.#headers, "Content-Type": "application/json" };
    }
    if (request.file !== undefined) {
      init.body = request.file;
      init.headers = { ...this.#headers, "Content-Type": "application/octet-stream" };
    }
    const safe = request.safe ?? method === "get";
    const timeout = notNegative("timeout", request.call.timeout ?? this.#timeout);
    const deadline = new Deadline(timeout, request.call.signal);
    try {
      return (await this.#repeated(address, init, safe, deadline)) as ResultOf<Operation<M, P>>;
    } catch (error) {
      throw deadline.reason(error);
    } finally {
      deadline.end();
    }
  }

  async #repeated(address: string, init: RequestInit, safe: boolean, deadline: Deadline): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(address, { ...init, signal: deadline.signal });
      } catch (error) {
        const again = error instanceof RecallError && error.retryable && (safe || didNothing(error));
        if (!again || attempt >= this.#retries || deadline.signal.aborted) throw error;
        if ((error.retryAfter ?? 0) > LONGEST_RETRY_AFTER) throw error;
        const wait = Math.min(FIRST_PAUSE * 2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random() / 2);
        await deadline.pause(Math.max(wait, (error.retryAfter ?? 0) * 1000), error);
      }
    }
  }

  async #once(address: string, init: RequestInit): Promise<unknown> {
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(address, init);
      text = await response.text();
    } catch (error) {
      throw new ConnectionFailed(`No answer came from ${this.#base}: ${whyOf(error)}.`, {
        code: "connection-failed",
        hint: "Check the address, and whether `pgrecall serve` runs there.",
        cause: error,
      });
    }
    const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    const json = type === "application/json" || type === "application/problem+json";
    if (response.ok && type.startsWith("text/plain")) return text;
    const answer = json ? parsed(text) : undefined;
    if (response.ok || isReadiness(answer)) {
      if (answer !== undefined) return answer;
      throw new ServiceError(`${this.#base} answered with ${type || "no content type"} instead of JSON.`, {
        code: "not-json",
        status: response.status,
        hint: "Check the address: it is not that of a pgrecall service.",
      });
    }
    throw errorOf(response, isProblem(answer) ? answer : undefined);
  }
}

/** A limit of time and the caller's signal, as one signal. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #forward = () => this.#controller.abort();
  #expired: CallTimeout | undefined;

  constructor(timeout: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#forward();
    outer?.addEventListener("abort", this.#forward, { once: true });
    if (timeout > 0) {
      this.#timer = setTimeout(() => {
        this.#expired = new CallTimeout(`The call took longer than ${timeout} ms.`, {
          code: "call-timeout",
          hint: "It may have been done. Give it a longer `timeout`.",
        });
        this.#controller.abort();
      }, timeout);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits; rejects with the error when the deadline is over first. */
  pause(milliseconds: number, error: RecallError): Promise<void> {
    return new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        reject(error);
      };
      const timer = setTimeout(() => {
        this.signal.removeEventListener("abort", over);
        resolve();
      }, milliseconds);
      this.signal.addEventListener("abort", over, { once: true });
    });
  }

  /** What a caller is told: the reason of its own signal, the timeout, or the error itself. */
  reason(error: unknown): unknown {
    if (this.#outer?.aborted) return this.#outer.reason;
    return this.#expired ?? error;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#forward);
  }
}

/** A memory in a path or a query: a key has a prefix, since one of digits would be an id. */
export function referenceText(memory: Reference): string {
  if (typeof memory === "number") {
    if (Number.isSafeInteger(memory) && memory > 0) return String(memory);
    throw invalid(`The id ${memory} is no positive whole number.`, "Give a key as a text.");
  }
  if (memory !== "") return `key:${memory}`;
  throw invalid("The key is empty.", "Give an id as a number, or a key.");
}

/** An error of a value that is not sent. */
export function invalid(message: string, hint: string): InvalidInput {
  return new InvalidInput(message, { code: "invalid-input", hint });
}

function filled(path: string, values: Readonly<Record<string, Reference>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw invalid(`The ${name} is missing.`, "Give it as the first argument.");
    const text = name === "memory" ? referenceText(value) : String(value);
    // An address with such a step would be another one.
    if (text === "" || text === "." || text === "..") throw invalid(`The ${name} '${text}' is no name.`, "");
    try {
      return encodeURIComponent(text);
    } catch (error) {
      throw new InvalidInput(`The ${name} is not valid Unicode text.`, {
        code: "invalid-input",
        hint: "Remove lone surrogates.",
        cause: error,
      });
    }
  });
}

function queryText(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, unknown][]) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

function addressOf(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new InvalidInput(`The address '${text}' is no URL.`, {
      code: "invalid-input",
      hint: "Give one like https://memory.example.com.",
      cause: error,
    });
  }
  if (url.protocol === "http:" || url.protocol === "https:") return text.replace(/\/+$/, "");
  throw invalid(`The address '${text}' is not one of http or https.`, "Give one like https://memory.example.com.");
}

function notNegative(name: string, value: number): number {
  if (value >= 0) return value;
  throw invalid(`The ${name} ${value} is below 0.`, "Give 0 or more.");
}

/** A variable of the process, where there is one: not in a browser. */
function environment(name: string): string | undefined {
  const host = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return host.process?.env?.[name];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConnectionFailed("The answer ends before it is complete.", { code: "connection-failed", cause: error });
  }
}

function isProblem(answer: unknown): answer is Problem {
  return typeof answer === "object" && answer !== null && "type" in answer && "detail" in answer;
}

/** The probe answers 503 with its reasons, which is its answer and no error. */
function isReadiness(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "ready" in answer && "problems" in answer;
}

function didNothing(error: RecallError): boolean {
  return NOTHING_DONE.has(error.code) || codeOf(error.cause) === "ECONNREFUSED";
}

/** Node's fetch hides the reason in the cause of its error. */
function whyOf(error: unknown): string {
  const cause = (error as { cause?: { message?: unknown } }).cause;
  const told = cause?.message || codeOf(error) || (error as { message?: unknown }).message;
  return String(told ?? error).replace(/\.$/, "");
}

function codeOf(error: unknown): unknown {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return cause?.code ?? code;
}
