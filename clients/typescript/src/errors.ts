import type { FieldProblem, Problem } from "./types.js";

/** What an error is made of. */
export interface ErrorParts {
  /** For programs: the name of the problem, such as `memory-not-found`. */
  readonly code: string;
  /** The HTTP status; 0 without an answer. */
  readonly status?: number;
  /** How to solve it, if known. */
  readonly hint?: string;
  /** Each field of the request that is wrong. */
  readonly fields?: readonly FieldProblem[];
  /** Seconds after which the service asks to be called again. */
  readonly retryAfter?: number | undefined;
  /** Identifies the request in the log of the service. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/**
 * Root of all errors of a call.
 *
 *     RecallError
 *     ├── InvalidInput          a value cannot be used; nothing was changed
 *     │   ├── MemoryNotFound    no memory with this id or key
 *     │   └── EmbedderMismatch  the database was made for another embedder
 *     ├── Unauthorized          the key is missing, unknown or revoked
 *     ├── Forbidden             the key may only read
 *     ├── NotFound              the address is not that of the service, or of a version without this route
 *     ├── EmbedderError         the embedder failed; nothing was stored
 *     ├── DatabaseTimeout       Postgres took too long and cancelled the call
 *     ├── ServiceUnavailable    too many requests, or Postgres does not answer
 *     ├── ServiceError          anything else that the service says
 *     ├── ConnectionFailed      no answer came
 *     └── CallTimeout           the call took longer than its timeout
 */
export class RecallError extends Error {
  readonly code: string;
  readonly status: number;
  readonly hint: string;
  readonly fields: readonly FieldProblem[];
  readonly retryAfter: number | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, parts: ErrorParts) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = parts.code;
    this.status = parts.status ?? 0;
    this.hint = parts.hint ?? "";
    this.fields = parts.fields ?? [];
    this.retryAfter = parts.retryAfter;
    this.requestId = parts.requestId;
  }

  override get name(): string {
    return "RecallError";
  }

  /** Whether the same call may succeed later. It says nothing of what the failed call has done. */
  get retryable(): boolean {
    return false;
  }
}

export class InvalidInput extends RecallError {
  override get name(): string {
    return "InvalidInput";
  }
}

export class MemoryNotFound extends InvalidInput {
  override get name(): string {
    return "MemoryNotFound";
  }
}

export class EmbedderMismatch extends InvalidInput {
  override get name(): string {
    return "EmbedderMismatch";
  }
}

export class Unauthorized extends RecallError {
  override get name(): string {
    return "Unauthorized";
  }
}

export class Forbidden extends RecallError {
  override get name(): string {
    return "Forbidden";
  }
}

export class NotFound extends RecallError {
  override get name(): string {
    return "NotFound";
  }
}

export class ServiceError extends RecallError {
  override get name(): string {
    return "ServiceError";
  }
}

class Passing extends RecallError {
  override get retryable(): boolean {
    return true;
  }
}

export class EmbedderError extends Passing {
  override get name(): string {
    return "EmbedderError";
  }
}

export class DatabaseTimeout extends Passing {
  override get name(): string {
    return "DatabaseTimeout";
  }
}

export class ServiceUnavailable extends Passing {
  override get name(): string {
    return "ServiceUnavailable";
  }
}

export class ConnectionFailed extends Passing {
  override get name(): string {
    return "ConnectionFailed";
  }
}

export class CallTimeout extends Passing {
  override get name(): string {
    return "CallTimeout";
  }
}

const NAMESPACE = "urn:pgrecall:problem:";

const BY_CODE: Readonly<Record<string, typeof RecallError>> = {
  "memory-not-found": MemoryNotFound,
  "embedder-mismatch": EmbedderMismatch,
  "embedder-failed": EmbedderError,
  "database-timeout": DatabaseTimeout,
};

const BY_STATUS: Readonly<Record<number, typeof RecallError>> = {
  400: InvalidInput,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  405: NotFound,
  413: InvalidInput,
  415: InvalidInput,
  422: InvalidInput,
  408: ServiceUnavailable,
  429: ServiceUnavailable,
  502: ServiceUnavailable,
  503: ServiceUnavailable,
  504: ServiceUnavailable,
};

/** The error that an answer tells; one without a problem comes from something between, such as a proxy. */
export function errorOf(response: Response, problem: Problem | undefined): RecallError {
  const status = response.status;
  const code = problem?.type.startsWith(NAMESPACE) ? problem.type.slice(NAMESPACE.length) : `http-${status}`;
  const Kind = BY_CODE[code] ?? (problem && status === 502 ? ServiceError : BY_STATUS[status]) ?? ServiceError;
  const message = problem?.detail ?? `The answer has status ${status} and is not from pgrecall.`;
  return new Kind(message, {
    code,
    status,
    hint: problem?.hint ?? (problem ? "" : "Check the address, and what is between this program and the service."),
    fields: problem?.errors ?? [],
    retryAfter: secondsOf(response.headers.get("retry-after")),
    requestId: response.headers.get("x-request-id") ?? undefined,
  });
}

/** Retry-After is a number of seconds or a date. */
function secondsOf(header: string | null): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  const seconds = Number(header);
  const wait = Number.isNaN(seconds) ? (Date.parse(header) - Date.now()) / 1000 : seconds;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
