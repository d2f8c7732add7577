// A Vitest fixture: test("name", async ({ cassette }) => { … }).
import { test as base } from "vitest";
import { endFixture, enterEnvironment, openFixture } from "./fixture.js";

const fullName = (task) => (task.suite?.name ? `${fullName(task.suite)} ${task.name}` : task.name);

const fixture = (source) =>
  async function ({ task, conformOptions }, use) {
    const session = await openFixture({ file: task.file.filepath, name: fullName(task), source, ...conformOptions });
    const leave = enterEnvironment(session);
    await use(session);
    leave();
    await endFixture(session, task.result?.state === "fail");
  };

export const test = base.extend({
  conformOptions: [{}, { injected: true }],
  // Vitest reads the names of the fixtures that a fixture needs from its first argument.
  cassette: async ({ task, conformOptions }, use) => fixture("cassette")({ task, conformOptions }, use),
  simulator: async ({ task, conformOptions }, use) => fixture("simulator")({ task, conformOptions }, use),
});
