/** Errors of the real service, and of what may stand before it. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  CallTimeout,
  ConnectionFailed,
  Forbidden,
  InvalidInput,
  Memory,
  MemoryNotFound,
  NotFound,
  RecallError,
  ServiceError,
  ServiceUnavailable,
  Unauthorized,
} from "../src/index.js";
import { fresh, json, KEY, memory, problem, READING_KEY, standIn, URL_OF_SERVICE } from "./support.js";

type Kind<E> = new (...parts: never[]) => E;

/** The error of a call, which must be of this class. */
async function errorOf<E extends RecallError>(kind: Kind<E>, call: Promise<unknown>): Promise<E> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof kind, `${String(error)} is no ${kind.name}`);
    assert.ok(error instanceof RecallError);
    assert.equal(error.name, kind.name);
    assert.match(error.message, /\.$/);
    return error;
  }
  assert.fail(`no ${kind.name}`);
}

test("401: the key is unknown, or missing", async () => {
  const stranger = new Memory({ key: `pgr_${"x".repeat(40)}` });
  const error = await errorOf(Unauthorized, stranger.status());
  assert.deepEqual([error.status, error.code, error.retryable], [401, "unauthorized", false]);
  assert.ok(error.requestId);
  const nobody = new Memory({ fetch: (input, init) => fetch(input, { ...init, headers: {} }) });
  await errorOf(Unauthorized, nobody.search("harbour"));
});

test("403: the key may only read", async () => {
  const reader = new Memory({ key: READING_KEY });
  assert.equal((await reader.search("harbour")).search_id, null);
  assert.equal((await errorOf(Forbidden, reader.remember("no"))).status, 403);
});

test("404: no such memory, no such route", async () => {
  const error = await errorOf(MemoryNotFound, memory.get(999_999_999));
  assert.ok(error instanceof InvalidInput);
  assert.deepEqual([error.status, error.code], [404, "memory-not-found"]);
  assert.match(error.message, /999999999/);
  assert.notEqual(error.hint, "");
  await errorOf(MemoryNotFound, memory.pin(fresh("nobody")));
  await errorOf(NotFound, new Memory({ baseUrl: `${URL_OF_SERVICE}/elsewhere` }).status());
});

test("422: a value cannot be used, each field by its place", async () => {
  const error = await errorOf(InvalidInput, memory.search("harbour", { k: 0 }));
  assert.deepEqual([error.status, error.code, error.fields[0]?.where], [422, "invalid-request", "body.k"]);
  const untyped = { eaten: true } as object;
  assert.match((await errorOf(InvalidInput, memory.remember("a text", untyped))).message, /eaten/);
  assert.equal((await errorOf(InvalidInput, memory.remember(""))).status, 422);
});

test("what needs no service to be refused", async () => {
  assert.equal((await errorOf(InvalidInput, memory.get(""))).status, 0);
  await errorOf(InvalidInput, memory.get(-1));
  await errorOf(InvalidInput, memory.get(2 ** 60));
  await errorOf(InvalidInput, memory.get("\ud800"));
  await errorOf(InvalidInput, memory.settings.set("..", 1));
  for (const options of [{ baseUrl: "memory" }, { baseUrl: "ftp://memory" }, { timeout: -1 }, { retries: NaN }]) {
    assert.throws(() => new Memory(options), InvalidInput);
  }
});

test("the service is down", async () => {
  let closed = "";
  await standIn(() => undefined, async (standIn) => void (closed = standIn.url));
  const error = await errorOf(ConnectionFailed, new Memory({ baseUrl: closed, retries: 1 }).remember("a text"));
  assert.deepEqual([error.status, error.code, error.retryable], [0, "connection-failed", true]);
  assert.match(error.message, /ECONNREFUSED/);
});

test("429 and 503: repeated where that is safe, after the pause that was asked for", async () => {
  const limited = (status: number, name: string) => (response: ServerResponse, number: number) =>
    number < 3
      ? json(response, status, problem(name, status), { "retry-after": "0" })
      : json(response, 200, { hits: [], search_id: null });
  await standIn(limited(429, "too-many-requests"), async (standIn) => {
    await new Memory({ baseUrl: standIn.url }).search("harbour");
    assert.equal(standIn.requests, 3);
  });
  await standIn(limited(429, "too-many-requests"), async (standIn) => {
    const error = await errorOf(ServiceUnavailable, new Memory({ baseUrl: standIn.url }).remember("a text"));
    assert.deepEqual([error.status, error.retryAfter, error.retryable, standIn.requests], [429, 0, true, 1]);
  });
  await standIn(limited(503, "service-unavailable"), async (standIn) => {
    await new Memory({ baseUrl: standIn.url }).remember("refused before anything was done");
    assert.equal(standIn.requests, 3);
  });
  await standIn(limited(503, "database-unavailable"), async (standIn) => {
    await errorOf(ServiceUnavailable, new Memory({ baseUrl: standIn.url }).remember("may have been stored"));
    assert.equal(standIn.requests, 1);
  });
});

test("a service that asks for a long pause is not called again", async () => {
  const later = new Date(Date.now() + 3_600_000).toUTCString();
  for (const header of ["3600", later]) {
    await standIn(
      (response) => json(response, 503, problem("service-unavailable", 503), { "retry-after": header }),
      async (standIn) => {
        const error = await errorOf(ServiceUnavailable, new Memory({ baseUrl: standIn.url }).status());
        assert.ok((error.retryAfter ?? 0) > 3500);
        assert.equal(standIn.requests, 1);
      },
    );
  }
});

test("an access that lost its answer is recorded once", async () => {
  const { id } = await memory.remember(`Recorded once ${fresh("")}`);
  let lost = 0;
  const unlucky = new Memory({
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (lost > 0) return response;
      lost += 1;
      await response.text();
      throw new TypeError("fetch failed");
    },
  });
  const { used } = (await memory.get(id)).access_counts;
  assert.equal(await unlucky.recordAccess(id, "used"), true);
  assert.equal(lost, 1);
  assert.equal((await memory.get(id)).access_counts.used, used + 1);
});

test("an answer that breaks off is no answer", async () => {
  const broken = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"hits": [');
    setImmediate(() => response.destroy());
  };
  await standIn(broken, async (standIn) => {
    await errorOf(ConnectionFailed, new Memory({ baseUrl: standIn.url, retries: 1 }).search("harbour"));
    assert.equal(standIn.requests, 2);
  });
});

test("something else answers at the address", async () => {
  const page = (status: number) => (response: ServerResponse) => {
    response.writeHead(status, { "content-type": "text/html" });
    response.end("<h1>Welcome</h1>");
  };
  await standIn(page(200), async (standIn) => {
    const error = await errorOf(ServiceError, new Memory({ baseUrl: standIn.url }).status());
    assert.equal(error.code, "not-json");
  });
  await standIn(page(404), async (standIn) => {
    const error = await errorOf(NotFound, new Memory({ baseUrl: standIn.url }).status());
    assert.equal(error.code, "http-404");
  });
  await standIn(page(502), async (standIn) => {
    await errorOf(ServiceUnavailable, new Memory({ baseUrl: standIn.url, retries: 0 }).status());
  });
});

test("a key is not taken along to where a redirection leads", async () => {
  let stolen = 0;
  await standIn(
    (response) => ((stolen += 1), json(response, 200, {})),
    async (thief) => {
      const away = (response: ServerResponse) => {
            response.writeHead(307, { location: thief.url });
        response.end();
      };
      await standIn(away, async (standIn) => {
        await errorOf(ConnectionFailed, new Memory({ baseUrl: standIn.url, key: KEY, retries: 0 }).status());
      });
    },
  );
  assert.equal(stolen, 0);
});

test("a timeout holds for a call with all its repetitions", async () => {
  await standIn(() => undefined, async (silent) => {
    const error = await errorOf(CallTimeout, new Memory({ baseUrl: silent.url, timeout: 50 }).status());
    assert.deepEqual([error.code, error.retryable], ["call-timeout", true]);
    await errorOf(CallTimeout, new Memory({ baseUrl: silent.url }).status({ timeout: 50 }));
    assert.equal(silent.requests, 2);
  });
  const busy = (response: ServerResponse) => json(response, 503, problem("service-unavailable", 503), { "retry-after": "20" });
  await standIn(busy, async (standIn) => {
    await errorOf(CallTimeout, new Memory({ baseUrl: standIn.url, timeout: 50 }).status());
  });
});

test("a signal ends a call with its own reason", async () => {
  await standIn(() => undefined, async (silent) => {
    const client = new Memory({ baseUrl: silent.url, timeout: 0 });
    await assert.rejects(client.status({ signal: AbortSignal.abort(new Error("before")) }), /before/);
    assert.equal(silent.requests, 0);
    const controller = new AbortController();
    const call = client.status({ signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
  });
  const busy = (response: ServerResponse) => json(response, 503, problem("service-unavailable", 503), { "retry-after": "20" });
  await standIn(busy, async (standIn) => {
    const controller = new AbortController();
    const waiting = new Memory({
      baseUrl: standIn.url,
      timeout: 0,
      fetch: (input, init) => fetch(input, init).finally(() => setTimeout(() => controller.abort(new Error("enough")), 20)),
    });
    await assert.rejects(waiting.status({ signal: controller.signal }), /enough/);
    assert.equal(standIn.requests, 1);
  });
});
