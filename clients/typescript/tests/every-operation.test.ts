/**
 * Every operation is called against the real service, and says what it should. Of methods that are made from the
 * OpenAPI document the compiler compares the call with the document, so they need no call here.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Memory } from "../src/index.js";
import { fresh } from "./support.js";

const sent = new Set<string>();
const memory = new Memory({
  fetch: (input, init) => {
    sent.add(`${init.method} ${new URL(input).pathname}`);
    return fetch(input, init);
  },
});

after(() => {
  const text = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
  const made = new Set(
    [...text("src/declared.ts").matchAll(/send\("(\w+)", "([^"]+)"/g)].map(([, verb, path]) => `${verb} ${path}`.toLowerCase()),
  );
  const { paths } = JSON.parse(text("openapi.json")) as { paths: Record<string, object> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.ok(operations.length - made.size > 15);
  const pattern = (operation: string) => new RegExp(`^${operation.replace(/\{\w+\}/g, "[^/]+")}$`);
  assert.deepEqual(
    operations.filter((operation) => !made.has(operation.toLowerCase()) && ![...sent].some((one) => pattern(operation).test(one))),
    [],
  );
});

test("store, edit, read", async () => {
  const key = fresh("contract");
  const stored = await memory.remember("Mira signs the harbour contract on Friday.", {
    key,
    layer: "episodic",
    tags: ["harbour"],
    metadata: { topic: key },
  });
  assert.equal(stored.outcome, "created");
  assert.equal(stored.key, key);
  assert.equal((await memory.edit(key, { title: "The contract", tags: null })).outcome, "updated");
  const read = await memory.get(stored.id);
  assert.equal(read.title, "The contract");
  assert.deepEqual(read.tags, []);
  assert.equal((await memory.get(key)).id, stored.id);
  const [listed, ...others] = await memory.list({ metadata: { topic: key }, layers: ["episodic"], limit: 5 });
  assert.equal(listed?.id, stored.id);
  assert.deepEqual(others, []);
});

test("remembering again keeps what is not given", async () => {
  const key = fresh("kept");
  await memory.remember("The ferry leaves at seven.", { key, title: "Ferry", author: "Mira", tags: ["sea"] });
  const again = await memory.remember("The ferry leaves at eight.", { key });
  assert.deepEqual([again.outcome, again.changed], ["updated", ["body"]]);
  const kept = await memory.get(key);
  assert.deepEqual([kept.title, kept.author, kept.tags], ["Ferry", "Mira", ["sea"]]);
  const [cleared] = await memory.rememberMany([{ body: kept.body, key, title: "", author: "", tags: [] }]);
  assert.deepEqual(cleared?.changed, ["title", "author", "tags"]);
});

test("many, and a list page by page", async () => {
  const source = fresh("source");
  const drafts = Array.from({ length: 7 }, (_, number) => ({ body: `Berth ${number} of ${source}.`, source }));
  const stored = await memory.rememberMany(drafts);
  assert.deepEqual(new Set(stored.map((one) => one.outcome)), new Set(["created"]));
  const found: number[] = [];
  for await (const one of memory.listAll({ sources: [source], limit: 3 })) found.push(one.id);
  assert.deepEqual(found.sort(), stored.map((one) => one.id).sort());
  assert.equal(await memory.recordAccesses(found.map((id) => ({ memory: id, kind: "used" }))), 7);
});

test("keys of any text", async () => {
  for (const key of ["42", "key:42", "a/../b", "..", ".", "ä ß/日本語 😀?#%&+", "%2e%2e", "a\\b"]) {
    const stored = await memory.remember(`The key is ${JSON.stringify(key)}: naïve Ωmega 漢字 👩‍👩‍👧.`, { key });
    const read = await memory.get(key);
    assert.equal(read.id, stored.id);
    assert.equal(read.key, key);
    assert.equal(read.body, `The key is ${JSON.stringify(key)}: naïve Ωmega 漢字 👩‍👩‍👧.`);
    assert.equal(await memory.forget(key, { hard: true }), true);
  }
});

test("search, context and feedback", async () => {
  const word = `quay${fresh("").replace(/\W/g, "")}`;
  const key = fresh("quay");
  await memory.remember(`The ${word} opens at six.`, { key });
  const result = await memory.search(word, { k: 3 });
  assert.equal(result.hits[0]?.key, key);
  assert.ok((result.hits[0]?.score ?? 0) > 0);
  assert.equal(await memory.used(result.search_id, key), 1);
  assert.equal(await memory.used(result.search_id, [key]), 0);
  assert.equal(await memory.rejected(result.search_id, [key]), 1);
  const block = await memory.context(word, { budget_tokens: 200 });
  assert.match(block.text, new RegExp(word));
  assert.equal((await memory.search(word, { log: false })).search_id, null);
  await assert.rejects(memory.used(null, key), { name: "InvalidInput", code: "invalid-input" });
});

test("accesses, once for each idempotency key", async () => {
  const { id } = await memory.remember(`Accessed ${fresh("")}`);
  assert.equal(await memory.recordAccess(id), true);
  assert.equal(await memory.recordAccess(id, "used", { idempotency_key: `once-${id}` }), true);
  assert.equal(await memory.recordAccess(id, "used", { idempotency_key: `once-${id}` }), false);
});

test("a session is that of its searches, contexts and accesses", async () => {
  const bodies: string[] = [];
  const spied = new Memory({ fetch: (input, init) => (bodies.push(String(init.body)), fetch(input, init)) });
  const session = spied.session("chat-42");
  await session.search("harbour");
  await session.context("harbour");
  const { id } = await session.remember(`In a session ${fresh("")}`);
  await session.recordAccess(id, "used");
  await session.recordAccess(id, "used", { session_id: "another" });
  assert.deepEqual(
    bodies.map((body) => /"session_id":"([^"]*)"/.exec(body)?.[1]),
    ["chat-42", "chat-42", undefined, "chat-42", "another"],
  );
});

test("links, supersession, pins, archive", async () => {
  const [one, two] = [fresh("one"), fresh("two")];
  await memory.rememberMany([{ body: `First of ${one}`, key: one }, { body: `Second of ${two}`, key: two }]);
  assert.equal(await memory.link(one, two, "supports", { weight: 2 }), true);
  assert.equal(await memory.link(one, two, "supports", { weight: 2 }), false);
  assert.equal(await memory.unlink(one, two, "supports"), 1);
  assert.equal(await memory.supersede(one, two), true);
  assert.equal((await memory.get(one)).superseded_by, (await memory.get(two)).id);
  assert.equal(await memory.unlink(two, one), 1);
  await memory.link(one, two, "derived_from");
  assert.ok(Array.isArray(await memory.staleSummaries(1)));
  assert.equal(await memory.pin(two), true);
  assert.equal(await memory.pin(two), false);
  assert.equal(await memory.pin(two, false), true);
  assert.equal(await memory.forget(one), true);
  assert.equal(await memory.forget(one), false);
  assert.equal(await memory.unarchive(one), true);
  assert.equal(await memory.forgetSession(fresh("chat"), { dry_run: true }), 0);
  assert.equal(await memory.unarchiveSession(fresh("chat")), 0);
  await assert.rejects(memory.share(one, "team"), /Tenant team does not let tenant \w+ share memories with it\./);
});

test("grants of OAuth", async () => {
  assert.deepEqual(await memory.keys.grants(), []);
  assert.equal(await memory.keys.endGrant("0".repeat(16)), false);
});

test("versions and changes", async () => {
  const key = fresh("hours");
  const before = await memory.history.cursor();
  await memory.remember("The yard opens at six.", { key });
  await memory.edit(key, { body: "The yard opens at seven." });
  const versions = await memory.history.versions(key);
  assert.deepEqual(versions.map((version) => version.body), ["The yard opens at seven.", "The yard opens at six."]);
  const [difference] = await memory.history.diff(key, 1);
  assert.equal(difference?.field, "body");
  assert.equal((await memory.history.diff(key, 1, 2)).length, 1);
  assert.equal((await memory.history.restore(key, 1)).outcome, "updated");
  assert.equal((await memory.get(key)).body, "The yard opens at six.");
  // A change is listed once no older transaction runs on the server, in whichever database.
  const kinds: string[] = [];
  let since = before;
  for (const end = Date.now() + 60_000; kinds.length < 3 && Date.now() < end; await delay(50)) {
    for await (const change of memory.history.allChanges({ since, limit: 1 })) {
      if (change.key === key) kinds.push(change.kind);
      since = change.cursor;
    }
  }
  assert.deepEqual(kinds, ["new", "rewritten", "rewritten"]);
  assert.ok((await memory.history.changes({ kinds: ["new"], limit: 1 })).every((change) => change.kind === "new"));
});

test("prune plans", async () => {
  const drafts = [{ body: `Long unused ${fresh("")}`, layer: "episodic" }];
  const [stored] = await memory.rememberMany(drafts, { now: "2020-01-01T00:00:00Z" });
  assert.ok(stored);
  const { id } = stored;
  const plan = await memory.plans.prune({ grace_days: 1, max_share: 1 });
  assert.equal(plan.state, "planned");
  assert.equal((await memory.plans.get(plan.id)).id, plan.id);
  const page = await memory.plans.get(plan.id, { limit: 1, offset: 1000 });
  assert.equal(page.kind === "prune" && page.items.length, 0);
  assert.equal((await memory.plans.list({ limit: 1 }))[0]?.id, plan.id);
  const items = plan.items.map((item) => item.id);
  assert.ok(items.includes(id));
  const outcome = await memory.plans.apply(plan.id, { parts: [id] });
  assert.deepEqual(outcome.archived, [id]);
  assert.notEqual((await memory.get(id)).archived_at, null);
  assert.equal((await memory.plans.undo(plan.id)).restored, 1);
  assert.equal((await memory.get(id)).archived_at, null);
});

test("dedupe plans", async () => {
  const layer = "knowledge";
  const text = `The crane ${fresh("").replace(/\W/g, "")} lifts forty tonnes at the north quay every morning`;
  const pair = (await memory.rememberMany([{ body: text, layer }, { body: `${text}.`, layer }])).map((one) => one.id);
  const plan = await memory.plans.dedupe({ layers: [layer] });
  const [cluster] = plan.clusters.filter((one) => one.members.some((member) => pair.includes(member.id)));
  assert.ok(cluster, "the two are a cluster");
  assert.equal((await memory.plans.get(plan.id)).id, plan.id);
  const page = await memory.plans.get(plan.id, { limit: 1, offset: 1000 });
  assert.equal(page.kind === "dedupe" && page.clusters.length, 0);
  assert.equal((await memory.plans.list({ limit: 1, kind: "dedupe" }))[0]?.id, plan.id);
  assert.equal((await memory.plans.apply(plan.id, { parts: [cluster.cluster] })).archived.length, 1);
  assert.equal((await memory.plans.undo(plan.id)).restored, 1);
  const [keeper, goes] = pair as [number, number];
  const chosen = await memory.plans.merge(keeper, [goes]);
  assert.equal(chosen.options.chosen, true);
  assert.equal(chosen.clusters[0]?.keeper.id, keeper);
  assert.equal(await memory.plans.drop(chosen.id), true);
});

test("redact plans", async () => {
  const token = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d";
  const { id } = await memory.remember(`The token is ${token}`);
  const plan = await memory.plans.redact();
  assert.ok(plan.items.some((item) => item.id === id && item.findings[0]?.kind === "GitHub Token"));
  assert.equal((await memory.plans.apply(plan.id, { parts: [id] })).results.length, plan.items.length);
  assert.equal((await memory.get(id)).body, "The token is [removed: GitHub Token]");
  assert.equal((await memory.plans.undo(plan.id)).restored, 1);
  assert.equal(await memory.plans.drop(plan.id), true);
});

test("erasures", async () => {
  const author = fresh("Mira");
  await memory.remember(`A secret of ${author}`, { author });
  const plan = await memory.erasure.plan({ author, asked_by: "Mira", sample: 1 });
  assert.equal(plan.planned, 1);
  assert.equal((await memory.erasure.get(plan.id, { sample: 0 })).state, "planned");
  assert.equal((await memory.erasure.list({ limit: 1 }))[0]?.id, plan.id);
  assert.equal((await memory.erasure.apply(plan.id, { signed_by: "Ada" })).state, "done");
  assert.deepEqual(await memory.list({ authors: [author] }), []);
  const other = await memory.erasure.plan({ author: fresh("nobody"), asked_by: "Mira" });
  assert.equal((await memory.erasure.drop(other.id)).id, other.id);
});

test("history and quality", async () => {
  const key = fresh("pilot");
  await memory.remember(`The pilot boards at the outer buoy ${key}`, { key });
  const now = new Date().toISOString();
  assert.ok((await memory.history.vitality(key, { at: now })).vitality > 0);
  assert.ok((await memory.history.zones(now)).length > 0);
  await memory.search("pilot at the buoy");
  assert.ok((await memory.quality.report({ limit: 10, unanswered: 1 })).searches > 0);
  assert.equal((await memory.quality.experiment({ difference: 0.1 })).refused, "no_experiment");
  assert.equal((await memory.quality.miss("pilot at the buoy", key, { k: 5 })).outcome, "found");
  assert.ok((await memory.quality.replay({ weights: { semantic: 0 }, limit: 5 })).searches > 0);
});

test("layers and settings", async () => {
  const name = `layer-${fresh("").replace(/\W/g, "").slice(0, 8)}`;
  assert.equal(await memory.layers.set(name, { metabolic_rate: 2 }), 0);
  assert.ok((await memory.layers.list()).some((layer) => layer.name === name));
  assert.equal(await memory.layers.drop(name), true);
  assert.ok((await memory.layers.usePreset("default")) >= 0);
  const [setting] = (await memory.settings.list()).filter((one) => one.name === "versions.per_memory");
  assert.ok(setting);
  assert.equal((await memory.settings.set(setting.name, 21)).value, 21);
  assert.equal((await memory.settings.reset(setting.name)).value, setting.value);
});

test("jobs, checks, status and probes", async () => {
  assert.ok((await memory.jobs.list()).some((job) => job.name === "fold"));
  assert.ok(Array.isArray(await memory.jobs.runs("fold", { limit: 2 })));
  assert.ok(Array.isArray(await memory.jobs.runs()));
  assert.ok((await memory.maintenance.verify()).every((check) => check.name));
  const status = await memory.status();
  assert.equal(status.tenant, "acme");
  assert.ok(status.memories > 0);
  assert.equal(await memory.service.alive(), true);
  assert.deepEqual(await memory.service.ready(), { ready: true, problems: [] });
  assert.match(await memory.service.metrics(), /^# HELP/m);
});

test("a file is imported, followed and imported again", async () => {
  const prefix = fresh("turns/");
  const turns = [{ role: "user", content: `The ferry to ${prefix} leaves at noon.`, timestamp: "2026-05-01T10:00:00Z" }];
  const file = new Blob([JSON.stringify(turns)]);
  const source = prefix;
  const made = await memory.imports.file("chat.json", file, { kind: "chat", prefix, source });
  assert.deepEqual([made.state, made.problem, made.report.created], ["done", null, 1]);
  assert.deepEqual(await memory.imports.get(made.id), made);
  const again = await memory.imports.file("chat.json", await file.arrayBuffer(), { kind: "chat", prefix, source });
  assert.deepEqual([again.report.created, again.report.unchanged], [0, 1]);
  const [newest] = await memory.imports.list({ source, limit: 1 });
  assert.ok((await memory.imports.unused()).length > 0);
  assert.deepEqual([newest?.id, newest?.created], [made.report.import_id, 1]);
  const undone = await memory.imports.undo(newest?.id, { source });
  assert.deepEqual([undone.deleted, undone.kept], [1, []]);
});
