/** Runs alone, after the others: pytest has meanwhile told the database that its embedder is another one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EmbedderMismatch } from "../src/index.js";
import { memory } from "./support.js";

test("409: the database was made for another embedder", async () => {
  await assert.rejects(memory.remember("a text"), (error) => {
    assert.ok(error instanceof EmbedderMismatch);
    assert.deepEqual([error.name, error.status, error.code, error.retryable], ["EmbedderMismatch", 409, "embedder-mismatch", false]);
    assert.match(error.message, /other-model/);
    return true;
  });
});
