// Finds and starts our programs. Their binaries are packages of their own, one for each
// platform, of which npm installs the one that fits. No script runs at installation.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const self = require("../package.json");

/** An error whose message is a sentence for the user; it needs no stack. */
export class ConformError extends Error {
  constructor(message) {
    super(message);
    this.name = "ConformError";
    this.stack = `${this.name}: ${message}`;
  }
}

/** Returns the path of a program: in MEERKAT_BIN_DIR, else in the package for this platform. */
export function findBinary(program, target = `${process.platform}-${process.arch}`, env = process.env) {
  const file = target.startsWith("win32") ? `${program}.exe` : program;
  if (env.MEERKAT_BIN_DIR) return join(env.MEERKAT_BIN_DIR, file);
  const platform = `${self.name}-${target}`;
  if (!(platform in (self.optionalDependencies ?? {})))
    throw new ConformError(
      `${self.name}: has no binary for ${target}; build ${program} with Go and set MEERKAT_BIN_DIR to its folder`,
    );
  let found;
  try {
    found = require.resolve(`${platform}/package.json`);
  } catch {
    throw new ConformError(
      `${platform}: is not installed; install ${self.name} again, without --omit=optional and on this platform`,
    );
  }
  const { version } = require(found);
  if (version !== self.version)
    throw new ConformError(
      `${platform}: is version ${version}, but ${self.name} is ${self.version}; install ${self.name} again`,
    );
  return join(found, "..", "bin", file);
}

/** Starts a program. error is called with a sentence if it cannot be run. */
export function startProgram(program, args, options, failed) {
  const path = findBinary(program);
  const child = spawn(path, args, options);
  child.on("error", (error) =>
    failed(new ConformError(`${path}: cannot be run (${error.code}); install ${self.name} again`)),
  );
  return child;
}

/** Runs a program in place of this process: with its streams, signals and exit code. */
export function runProgram(program, args) {
  const fail = (error) => {
    console.error(error instanceof ConformError ? error.message : error);
    process.exit(4);
  };
  try {
    const child = startProgram(program, args, { stdio: "inherit" }, fail);
    process.on("SIGINT", () => {}); // the terminal sends it to the program, too
    for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
    child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
  } catch (error) {
    fail(error);
  }
}
