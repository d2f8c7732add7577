// What the fixtures of Vitest and node:test have in common.
import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { ConformError, record, replay, simulate } from "./index.js";

const modes = ["none", "once", "new_episodes", "all"];

/** Opens the session of a test: file is that of the test, name its full name. */
export async function openFixture({ file, name, source = "cassette", mode, cassette, ...options }) {
  if (source === "simulator") return simulate(options);
  const inCI = !["", "0", "false"].includes((process.env.CI ?? "").toLowerCase());
  mode ??= process.env.RECORD_MODE ?? (inCI ? "none" : "once");
  if (!modes.includes(mode)) throw new ConformError(`RECORD_MODE=${mode}: unknown; use ${modes.join(", ")}`);
  cassette ??= join(
    relative("", dirname(file)),
    "cassettes",
    basename(file).replace(/([._-](test|spec))?\.[^.]*$/, ""),
    `${name.replace(/[^\w.-]+/g, "-")}.yaml`,
  );
  if (mode === "none" && !existsSync(cassette))
    throw new ConformError(
      `${cassette}: does not exist, and nothing is recorded in CI; run the test with RECORD_MODE=once and a key`,
    );
  return mode === "none" || (mode === "once" && existsSync(cassette))
    ? replay({ cassette, ...options })
    : record({ cassette, mode, ...options });
}

/** Gives process.env the variables of a session. The function returned takes them back. */
export function enterEnvironment(session) {
  const names = [...Object.keys(session.variables), ...session.remove];
  const before = names.map((name) => [name, process.env[name]]);
  Object.assign(process.env, session.variables);
  for (const name of session.remove) delete process.env[name];
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

/** Ends the session of a test. A test that passed fails by the verdict; one that failed hears of findings. */
export async function endFixture(session, testFailed) {
  const verdict = await session.stop({ keep: !testFailed });
  if (verdict.ok || (testFailed && !verdict.findings.length)) return;
  const missed = verdict.message.includes("no answer to")
    ? "\nto record what is missing: RECORD_MODE=new_episodes"
    : "";
  throw new ConformError(verdict.message + missed);
}
