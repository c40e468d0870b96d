/**
 * An agent with a memory: tools for the AI SDK.
 *
 * `memoryTools(memory)` gives any model three tools. What the model says it used is recorded, so that it ranks higher
 * in the next search.
 */
import { tool } from "ai";
import { z } from "zod";
import { type Memory, RecallError } from "../src/index.js"; // "pgrecall" in a program of your own

export function memoryTools(memory: Memory) {
  return {
    remember: tool({
      description: "Remember a fact for later conversations. A fact with the same key is replaced.",
      inputSchema: z.object({
        text: z.string().describe("The fact, in a sentence that can be understood alone."),
        key: z.string().optional().describe("A short name for what the fact is about."),
      }),
      execute: ({ text, key }, { abortSignal }) =>
        told(async () => {
          const options = { ...(key && { key }), ...(abortSignal && { signal: abortSignal }) };
          const { id, outcome, similar } = await memory.remember(text, options);
          return { id, outcome, similar: similar?.id ?? null };
        }),
    }),
    search_memory: tool({
      description: "Search what was remembered. Call it before you answer a question about the past.",
      inputSchema: z.object({ question: z.string() }),
      execute: ({ question }, { abortSignal }) =>
        told(async () => {
          const { hits, search_id } = await memory.search(question, { k: 5, ...(abortSignal && { signal: abortSignal }) });
          return { search_id, memories: hits.map(({ id, body, relevance }) => ({ id, body, relevance })) };
        }),
    }),
    used_memories: tool({
      description: "Tell which memories of a search helped to answer. Call it once after the search.",
      inputSchema: z.object({ search_id: z.number().int(), ids: z.array(z.number().int()).min(1) }),
      execute: ({ search_id, ids }) => told(async () => ({ recorded: await memory.used(search_id, ids) })),
    }),
  };
}

/** What the model is told: a result, or the error with the way out, which it may take. */
async function told<Result>(call: () => Promise<Result>): Promise<Result | { readonly error: string }> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof RecallError) return { error: `${error.message} ${error.hint}`.trim() };
    throw error;
  }
}
