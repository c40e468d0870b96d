/** The example: a model of the AI SDK's own for tests plays two conversations with the tools. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV2 } from "ai/test";
import { memoryTools } from "../examples/agent.js";
import { Memory } from "../src/index.js";
import { fresh, memory } from "./support.js";

type Prompt = Parameters<MockLanguageModelV2["doGenerate"]>[0]["prompt"];
interface Wanted {
  readonly tool: string;
  readonly input: object;
}

/** A model that calls a tool in each step, by what it has seen so far, and says the last text. */
function model(...steps: readonly ((prompt: Prompt) => Wanted | string)[]): MockLanguageModelV2 {
  let number = 0;
  return new MockLanguageModelV2({
    doGenerate: async ({ prompt }) => {
      const step = steps[number];
      assert.ok(step, "the model is asked more often than it has steps");
      number += 1;
      const wanted = step(prompt);
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      if (typeof wanted === "string") {
        return { content: [{ type: "text", text: wanted }], finishReason: "stop", usage, warnings: [] };
      }
      const call = {
        type: "tool-call" as const,
        toolCallId: `call-${number}`,
        toolName: wanted.tool,
        input: JSON.stringify(wanted.input),
      };
      return { content: [call], finishReason: "tool-calls", usage, warnings: [] };
    },
  });
}

/** The output of the last tool call that a prompt has. */
function lastOutput(prompt: Prompt): { search_id: number; memories: { id: number; body: string }[]; error: string } {
  const message = prompt.at(-1);
  assert.equal(message?.role, "tool");
  const part = message.role === "tool" ? message.content[0] : undefined;
  assert.equal(part?.output.type, "json");
  return part.output.value as never;
}

test("an agent remembers, searches, and records what it used", async () => {
  const key = fresh("ferry");
  const session = memory.session(fresh("chat"));
  await generateText({
    model: model(
      () => ({ tool: "remember", input: { text: "The ferry to Odda leaves at half past nine.", key } }),
      () => "Noted.",
    ),
    tools: memoryTools(session),
    stopWhen: stepCountIs(5),
    prompt: "Remember that the ferry to Odda leaves at half past nine.",
  });
  assert.equal((await memory.get(key)).access_counts.used, 0);

  const { text } = await generateText({
    model: model(
      () => ({ tool: "search_memory", input: { question: "when does the ferry to Odda leave?" } }),
      (prompt) => {
        const { search_id, memories } = lastOutput(prompt);
        return { tool: "used_memories", input: { search_id, ids: [memories[0]?.id] } };
      },
      () => "At half past nine.",
    ),
    tools: memoryTools(session),
    stopWhen: stepCountIs(5),
    prompt: "When does the ferry leave?",
  });
  assert.equal(text, "At half past nine.");
  assert.equal((await memory.get(key)).access_counts.used, 1);
});

test("a model is told what went wrong and how to go on", async () => {
  await generateText({
    model: model(
      () => ({ tool: "search_memory", input: { question: "anything" } }),
      (prompt) => {
        assert.match(lastOutput(prompt).error, /key/);
        return "I have no memory now.";
      },
    ),
    tools: memoryTools(new Memory({ key: `pgr_${"x".repeat(40)}` })),
    stopWhen: stepCountIs(5),
    prompt: "What do you know?",
  });
});
