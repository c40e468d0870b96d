/** What must not compile; `tsc` fails where one of these lines is accepted. Nothing here runs. */
import { Memory, MemoryNotFound, RecallError, type Hit, type Remembered, type SearchResult } from "../src/index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_ extends true>(): void => undefined;

export async function nothingOfThisRuns(memory: Memory): Promise<void> {
  const stored = await memory.remember("a text", { key: "contract", tags: ["harbour"], metadata: { any: [1] } });
  holds<Same<typeof stored, Remembered>>();
  holds<Same<typeof stored.outcome, "created" | "updated" | "revived" | "unchanged">>();
  const result = await memory.search("a question", { k: 3, vitality_mode: "off", timeout: 5 });
  holds<Same<typeof result, SearchResult>>();
  holds<Same<typeof result.search_id, number | null>>();
  holds<Same<(typeof result.hits)[number], Hit>>();
  const key: string | null = (await memory.get(1)).key;
  void key;

  // @ts-expect-error a text is needed
  await memory.remember();
  // @ts-expect-error a text is no number
  await memory.remember(42);
  // @ts-expect-error there is no such field
  await memory.remember("a text", { tag: "harbour" });
  // @ts-expect-error tags are a list
  await memory.remember("a text", { tags: "harbour" });
  // @ts-expect-error there is no such role
  await memory.remember("a text", { role: "robot" });
  // @ts-expect-error a draft has a text
  await memory.rememberMany([{ key: "contract" }]);
  // @ts-expect-error no such option
  await memory.search("a question", { top_k: 3 });
  // @ts-expect-error not a number
  await memory.search("a question", { k: "3" });
  // @ts-expect-error no such mode
  await memory.search("a question", { vitality_mode: "loud" });
  // @ts-expect-error a memory is a number or a text
  await memory.get(null);
  // @ts-expect-error no such kind of access
  await memory.recordAccess(1, "eaten");
  // @ts-expect-error no such order
  await memory.list({ order: "oldest" });
  // @ts-expect-error who asked is needed
  await memory.erasure.plan({ author: "Mira" });
  // @ts-expect-error who signs is needed
  await memory.erasure.apply(1, {});
  // @ts-expect-error no such kind of change
  await memory.history.changes({ kinds: ["eaten"] });
  // @ts-expect-error no such preset
  await memory.layers.usePreset("loud");
  // @ts-expect-error a plan has a number
  await memory.plans.apply("1");
  // @ts-expect-error not a signal
  await memory.status({ signal: 5 });
  // @ts-expect-error no such option of a client
  new Memory({ url: "http://localhost" });
  // @ts-expect-error answers are read only
  result.hits.pop();

  const error: unknown = undefined;
  if (error instanceof MemoryNotFound) {
    const root: RecallError = error;
    holds<Same<typeof root.status, number>>();
    // @ts-expect-error an error says what it is, and cannot be told
    error.code = "other";
  }
}
