export * from "./errors.js";
export { Memory } from "./memory.js";
export type { ClientOptions, Fetch } from "./transport.js";
export type * from "./declared.js";
export type * from "./types.js";
export type { components, operations, paths } from "./openapi.js";
