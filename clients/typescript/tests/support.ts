import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Memory } from "../src/index.js";

/** The service that pytest started; without it nothing is tested, which is no success. */
function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: tests/acceptance/typescript runs these tests.`);
  return value;
}

export const URL_OF_SERVICE = required("PGRECALL_SERVICE_URL");
export const KEY = required("PGRECALL_KEY");
export const READING_KEY = required("PGRECALL_TEST_READING_KEY");

/** Address and key come from the environment. */
export const memory = new Memory();

/** A key that no other test uses. */
export function fresh(name: string): string {
  return `${name}/${randomUUID()}`;
}

export interface StandIn {
  readonly url: string;
  readonly requests: number;
  /** What a client sent as the body of its last request. */
  readonly body: string;
}

/** What stands between a client and its service, and answers as a proxy may: the number counts from 1. */
export async function standIn(
  answer: (response: ServerResponse, number: number, request: IncomingMessage) => void,
  use: (standIn: StandIn) => Promise<void>,
): Promise<void> {
  let requests = 0;
  let body = "";
  const server = createServer((request, response) => {
    requests += 1;
    const number = requests;
    let sent = "";
    request.on("data", (part: Buffer) => (sent += part.toString()));
    request.on("end", () => {
      body = sent;
      answer(response, number, request);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  try {
    await use({
      url: `http://127.0.0.1:${port}`,
      get requests() {
        return requests;
      },
      get body() {
        return body;
      },
    });
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

/** Answers with JSON. */
export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const type = status < 400 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "content-type": type, ...headers });
  response.end(JSON.stringify(body));
}

export function problem(name: string, status: number): object {
  return { type: `urn:pgrecall:problem:${name}`, title: name, status, detail: `This is ${name}.`, hint: "Do." };
}
