// Records, replays and simulates a provider for the code of a test, and judges what that code sent.
// The work is done by the programs recorder and conform, which end with this process.
import { copyFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { ConformError, startProgram } from "./binary.js";

export { ConformError } from "./binary.js";

/** Records the requests that reach the session into a cassette. */
export async function record({ cassette, mode = "once", ...options }) {
  const known = existsSync(cassette);
  if (mode === "once" && known)
    throw new ConformError(`${cassette}: exists; replay it, or record it again with mode "all"`);
  return openSession(cassette, options, async (session) => {
    const file = join(session.folder, "recording.yaml");
    const missing = mode === "new_episodes" && known;
    if (missing) await copyFile(cassette, file);
    await session.record(file, [...(missing ? ["--missing"] : []), ...upstreams(options.upstream)]);
    session.keepAs = cassette;
  });
}

/** Answers requests from a cassette; nothing is sent to a provider. */
export async function replay({ cassette, match, ...options }) {
  return openSession(cassette, options, async (session) => {
    const source = await session.start("replay", [
      "--cassette",
      cassette,
      "--ingress",
      "base-url",
      "--allow-unused",
      ...(match ? ["--match", match] : []),
    ]);
    await session.recordSource(source);
  });
}

/** Answers requests as the providers do, as strictly, without a key. */
export async function simulate({ scenario, seed, level, ...options } = {}) {
  return openSession("simulator", options, async (session) => {
    const flags = Object.entries({ scenario, seed, level }).filter(([, value]) => value !== undefined);
    const source = await session.start(
      "simulate",
      flags.flatMap(([name, value]) => [`--${name}`, String(value)]),
    );
    await session.recordSource(source);
  });
}

/** Judges recordings: cassettes, HAR files and those of other tools, or folders of them. */
export async function judge(paths, { args = [] } = {}) {
  return runConform(["check", "--json", ...args, "--", ...[paths].flat()]);
}

/** Runs an agent through the cases and judges what it sent. command holds "{prompt}". */
export async function run(command, { args = [] } = {}) {
  return runConform(["run", "--json", ...args, "--", ...command]);
}

async function runConform(args) {
  const { code, out, err } = await new Promise((resolve, reject) => {
    const child = startProgram("conform", args, { stdio: ["ignore", "pipe", "pipe"] }, reject);
    const text = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (data) => (text.out += data));
    child.stderr.setEncoding("utf8").on("data", (data) => (text.err += data));
    child.on("close", (code) => resolve({ code, ...text }));
  });
  if (code === null || code === 2 || code > 3) throw new ConformError(err.trim() || `conform: ended with ${code}`);
  const report = JSON.parse(out);
  const findings = (report.recordings ?? report.results)
    .flatMap((part) => (part.findings ?? []).map((finding) => ({ ...finding, place: part.case ?? part.path })))
    .filter((finding) => finding.verdict === "fail" && !finding.cause);
  return verdictOf(code !== 1, findings, report);
}

const verdictOf = (ok, findings, report) => ({ ok, findings, message: findings.map(describe).join("\n"), report });

function describe({ check, message, place, exchange, path, fix }) {
  const where = [place, exchange === undefined ? "" : `exchange ${exchange}`, path].filter(Boolean).join(", ");
  return `${check}: ${message}\n  at: ${where}\n  fix: ${fix}`;
}

const upstreams = (upstream = {}) =>
  Object.entries(upstream).flatMap(([provider, url]) => ["--upstream", `${provider}=${url}`]);

async function openSession(name, options, open) {
  const session = new Session(name, options, await mkdtemp(join(tmpdir(), "conform-")));
  try {
    await open(session);
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

// Lines of the recorder that say which of its flags would help.
const isAside = /--mode refresh$|^recorder:   (to record|only --match)/;

class Session {
  #programs = [];
  #cassette;

  constructor(name, { args = [], ingress = "mitm,base-url" }, folder) {
    Object.assign(this, { name, args, ingress, folder });
  }

  /** Starts the recorder with a command that prints recorder.ready.v1. */
  async start(command, args) {
    const lines = [];
    const child = await new Promise((resolve, reject) => {
      const child = startProgram(
        "recorder",
        [command, "-q", "--json", "--stop-on-eof", "--listen", "127.0.0.1:0", ...args],
        { stdio: ["pipe", "pipe", "pipe"] },
        reject,
      );
      child.stdin.on("error", () => {}); // it has ended already
      createInterface({ input: child.stderr }).on("line", (line) => lines.length < 1000 && lines.push(line));
      child.ended = new Promise((ended) => child.on("close", ended));
      createInterface({ input: child.stdout }).once("line", (line) =>
        resolve(Object.assign(child, { ready: JSON.parse(line) })),
      );
      child.ended.then((code) => reject(new ConformError(lines.join("\n") || `recorder: ended with ${code}`)));
    });
    this.#programs.unshift({ child, lines }); // the one that clients talk to ends first
    return child.ready;
  }

  /** Starts the proxy that clients talk to. */
  async record(file, args) {
    this.#cassette = file;
    Object.assign(
      this,
      await this.start("record", ["--cassette", file, "--ingress", this.ingress, ...args, ...this.args]),
    );
    const { ANTHROPIC_BASE_URL: anthropic, OPENAI_BASE_URL: openai, GEMINI_BASE_URL: gemini } = this.variables;
    this.baseURL = { anthropic, openai, gemini };
  }

  /** Puts a recording proxy before a source that is no provider, so that what it is asked is judged. */
  async recordSource({ variables }) {
    const { ANTHROPIC_BASE_URL: anthropic, OPENAI_BASE_URL: openai, GEMINI_BASE_URL: gemini } = variables;
    const inFront = upstreams({ anthropic, openai: openai.replace(/\/v1$/, ""), gemini });
    await this.record(join(this.folder, "requests.yaml"), ["--on-secret", "mask", ...inFront]);
    for (const owner of ["ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE"]) this.variables[`${owner}_API_KEY`] = "made-up";
  }

  /** The environment for a program that is to use this session. */
  get env() {
    const env = { ...process.env, ...this.variables };
    for (const name of this.remove) delete env[name];
    return env;
  }

  /** Ends the session and judges what was sent. keep: false drops what was recorded. */
  async stop({ keep = true } = {}) {
    try {
      const failures = await this.#endPrograms();
      let verdict = verdictOf(true, []);
      if (existsSync(this.#cassette)) {
        const { ok, findings, report } = await judge(this.#cassette);
        verdict = verdictOf(
          ok,
          findings.map((finding) => ({ ...finding, place: this.name })),
          report,
        );
        if (keep && this.keepAs) await this.#moveTo(this.keepAs);
      }
      if (failures.some((line) => line.includes("nothing was asked for")))
        failures.splice(
          0,
          Infinity,
          `${this.name}: nothing was sent; a client must use the variables of the session, such as ANTHROPIC_BASE_URL`,
        );
      // A request that was not recorded is most often the finding itself.
      if (failures.length) Object.assign(verdict, { ok: false, message: verdict.message || failures.join("\n") });
      return verdict;
    } finally {
      await this.close();
    }
  }

  async #endPrograms() {
    const failures = [];
    for (const { child, lines } of this.#programs) {
      child.stdin.end();
      if (await child.ended) failures.push(...lines.filter((line) => !isAside.test(line)));
    }
    this.#programs = [];
    return failures;
  }

  async #moveTo(cassette) {
    await mkdir(dirname(cassette), { recursive: true });
    const beside = `${cassette}.${process.pid}.tmp`; // the folder may be on another disk
    await copyFile(this.#cassette, beside);
    await rename(beside, cassette);
  }

  /** Ends the session without a verdict and removes its files. */
  async close() {
    await this.#endPrograms();
    await rm(this.folder, { recursive: true, force: true });
  }
}
