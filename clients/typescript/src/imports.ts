import type { operations } from "./openapi.js";
import { split } from "./pages.js";
import type { FileBody, Transport } from "./transport.js";
import type { AtTime, CallOptions, Import, ImportSummary, ImportUndone } from "./types.js";

/** How a file is read, and whether to wait until it is stored. */
export type ImportOptions = Omit<operations["import_file"]["parameters"]["query"], "name">;

/** `memory.imports`: chats, notes, records and exports, as files. */
export class ImportsGroup {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Imports a file, and waits until it is stored unless `wait` is false. A second import of the same file changes
   * nothing, so the call is repeated where the connection fails. Give a large file a longer `timeout`.
   *
   * @param name - that of the file; its ending tells its format.
   */
  async file(name: string, file: FileBody, options: ImportOptions & CallOptions = {}): Promise<Import> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/imports", { query: { ...rest, name }, file, call, safe: true });
  }

  /** Lists imports that changed something, newest first, however they were made. */
  async list(
    options: { readonly limit?: number; readonly source?: string } & CallOptions = {},
  ): Promise<readonly ImportSummary[]> {
    const { call, rest } = split(options);
    return this.#transport.send("get", "/v1/imports", { query: rest, call });
  }

  /**
   * Undoes an import: gives back what it changed, restores what it archived, deletes what it added. What was changed or
   * used since is kept, and named.
   *
   * @param importId - `report.import_id` of an import, or `id` of the list; by default that of the last one.
   */
  async undo(
    importId?: number,
    options: { readonly source?: string } & AtTime & CallOptions = {},
  ): Promise<ImportUndone> {
    const { call, rest } = split(options);
    return this.#transport.send("post", "/v1/imports/undo", { query: { ...rest, import_id: importId }, call });
  }

  /** Reads how far an import is, or its result. */
  async get(id: number, call: CallOptions = {}): Promise<Import> {
    return this.#transport.send("get", "/v1/imports/{number}", { path: { number: id }, call });
  }
}
