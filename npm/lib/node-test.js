// A fixture of node:test: test("name", async (t, session) => { … }).
import { test as base } from "node:test";
import { endFixture, enterEnvironment, openFixture } from "./fixture.js";

/** Runs a test with a session, as options.conform says. */
export function test(name, options, body = options) {
  const { conform, ...own } = body === options ? {} : options;
  return base(name, own, async (t) => {
    const session = await openFixture({ file: t.filePath ?? process.argv[1], name: t.fullName ?? t.name, ...conform });
    const leave = enterEnvironment(session);
    const failures = [];
    await (async () => body(t, session))().catch((error) => failures.push(error));
    leave();
    await endFixture(session, failures.length > 0).catch((verdict) => failures.push(verdict));
    if (failures.length > 1) throw new AggregateError(failures, failures.map((failure) => failure.message).join("\n"));
    if (failures.length) throw failures[0];
  });
}
