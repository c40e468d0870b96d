/**
 * Loads our plugin as OpenClaw does by its published interface, and plays two conversations.
 *
 * Prints what turns got, and what the tools returned, as JSON.
 */
import plugin from "./index.js";

const [secret, url] = process.argv.slice(2);
const hooks = {};
const tools = {};
plugin.register({
  pluginConfig: url ? { url } : {}, // the key is that of the environment
  on: (name, handler) => (hooks[name] = handler),
  registerTool: (tool) => (tools[tool.name] = tool),
});

const said = { first: [], second: [], third: [], timer: [] };
let clock = Date.UTC(2026, 4, 1);

async function turn(session, trigger, message, answer) {
  const context = { sessionId: session, sessionKey: "agent:main:main", trigger };
  const added = await hooks.before_prompt_build({ prompt: message, messages: said[session] }, context);
  const prompt = [added?.prependContext, message].filter(Boolean).join("\n\n");
  said[session].push({ role: "user", content: [{ type: "text", text: prompt }], timestamp: (clock += 1000) });
  said[session].push({ role: "toolResult", content: [{ type: "text", text: "not said" }], timestamp: (clock += 1000) });
  said[session].push({ role: "assistant", content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: answer }], timestamp: (clock += 1000) });
  await hooks.agent_end({ messages: said[session], success: true }, context);
  return added?.prependContext ?? "";
}

const call = async (name, given) => JSON.parse((await tools[name].execute("call-1", given)).content[0].text);
const question = "When does the ferry to Odda leave?";

const statement = await turn("first", "user", "The ferry to Odda leaves at half past nine.", "Noted.");
await turn("first", "user", `My key is ${secret}`, "I have not kept it.");
const same = await turn("first", "user", question, "At half past nine.");
await turn("timer", "heartbeat", "The ferry to Odda is cancelled.", "Noted.");
const recalled = await turn("second", "user", question, "At half past nine, as you said.");
await turn("second", "user", `${"a ".repeat(1_999)}b\u{1F600} ${secret}`, "That was long."); // the cut is in a sign
await turn("second", "user", "And now?", "That is all.");
await turn("third", "user", `${"a ".repeat(1_990)}${secret}`, "That was long."); // the cut is in the secret
await turn("third", "user", `${"b".repeat(5_000)}\uD83D`, "Half a sign.");
await call("recall_remember", { text: `The manual of the winch. ${"It says much. ".repeat(1_000)}`, key: "manual" });
const long = (await call("recall", { query: "What does the manual of the winch say?" })).memories[0].body.length;
const kept = await call("recall_remember", { text: "The gate code is 4711.", key: "gate" });
const found = await call("recall", { query: "What is the gate code?" });
const best = found.memories[0];
const used = await call("recall_used", { search_id: found.search_id, memories: [best.id] });
const wrong = await call("recall_used", { search_id: 999_999, memories: [best.id] });
await call("recall_forget", { memory: best.id });
const again = await call("recall", { query: "What is the gate code?" });
console.log(JSON.stringify({ statement, same, recalled, kept, best: best.body, used, wrong, again, long, tools: Object.keys(tools) }));
