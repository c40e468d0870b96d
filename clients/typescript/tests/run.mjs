/** `npm test`: compiles the client with its tests, and runs them against the service, which it starts if none is named. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const named = ["PGRECALL_SERVICE_URL", "PGRECALL_KEY", "PGRECALL_TEST_READING_KEY"];

/** The command of a clone, or the one on the PATH. */
function command() {
  const own = join(root, "..", "..", ".venv", "bin", "pgrecall");
  return process.env.PGRECALL_COMMAND ?? (existsSync(own) ? own : "pgrecall");
}

function pgrecall(env, ...parameters) {
  const done = spawnSync(command(), parameters, { env, encoding: "utf8" });
  if (done.error?.code === "ENOENT") {
    throw new Error(`The command pgrecall is not there. Install it with \`make check\` in the clone, or set ${named.join(", ")}.`);
  }
  if (done.status !== 0) throw new Error(`pgrecall ${parameters.join(" ")} failed: ${done.stderr}`);
  return done.stdout;
}

function run(program, parameters, env = process.env) {
  return spawnSync(program, parameters, { cwd: root, env, stdio: "inherit" }).status ?? 1;
}

/** Tests all but the one for which pytest changes the database. */
function test(variables) {
  const files = readdirSync(join(root, "build", "tests")).filter((name) => name.endsWith(".test.js") && !name.startsWith("mismatch"));
  return run(process.execPath, ["--test", ...files.map((name) => join("build", "tests", name))], { ...process.env, ...variables });
}

/** A service with a Postgres and keys of its own, which are gone afterwards. */
async function withService(use) {
  const folder = mkdtempSync(join(tmpdir(), "pgrecall-test-"));
  chmodSync(folder, 0o755); // where npm runs as root, Postgres runs as another account
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("PGRECALL_"));
  const env = { ...Object.fromEntries(kept), PGRECALL_DATA_DIR: join(folder, "data"), PGRECALL_TENANT: "acme", PGRECALL_EMBEDDER: "hash", PGRECALL_EMBEDDER_DIMENSIONS: "64" };
  let service;
  try {
    const key = (...options) => pgrecall(env, "keys", "create", "npm test", ...options).split("\n")[0].trim();
    const [writing, reading] = [key(), key("--read-only")];
    service = spawn(command(), ["serve", "--port", "0"], { env, stdio: ["ignore", "pipe", "ignore"] });
    const [url] = await once(createInterface(service.stdout), "line");
    return use({ PGRECALL_SERVICE_URL: url, PGRECALL_KEY: writing, PGRECALL_TEST_READING_KEY: reading });
  } finally {
    if (service && service.exitCode === null) {
      service.kill("SIGTERM");
      await once(service, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  const compiled = run(process.execPath, [join("node_modules", "typescript", "bin", "tsc")]);
  process.exitCode = compiled || (named.every((name) => process.env[name]) ? test({}) : await withService(test));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
