import * as declared from "./declared.js";
import type { operations } from "./openapi.js";
import { split } from "./pages.js";
import type { FileBody } from "./transport.js";
import type { CallOptions, Import } from "./types.js";

/** How a file is read, and whether to wait until it is stored. */
export type ImportOptions = Omit<operations["import_file"]["parameters"]["query"], "name">;

/** `memory.imports`: chats, notes, records and exports, as files. */
export class ImportsGroup extends declared.ImportsGroup {
  /**
   * Imports a file, and waits until it is stored unless `wait` is false. A second import of the same file changes
   * nothing, so the call is repeated where the connection fails. Give a large file a longer `timeout`.
   *
   * @param name - that of the file; its ending tells its format.
   */
  async file(name: string, file: FileBody, options: ImportOptions & CallOptions = {}): Promise<Import> {
    const { call, rest } = split(options);
    return this.transport.send("post", "/v1/imports", { query: { ...rest, name }, file, call, safe: true });
  }

  /** Reads how far an import is, or its result. */
  async get(id: number, call: CallOptions = {}): Promise<Import> {
    return this.transport.send("get", "/v1/imports/{number}", { path: { number: id }, call });
  }
}
