import type { TestContext, TestOptions } from "node:test";
import type { FixtureOptions, Session } from "./index.js";

type Body = (t: TestContext, session: Session) => void | Promise<void>;

/** test of node:test with a session: that of a cassette, or with source: "simulator" of the simulator. */
export function test(name: string, body: Body): Promise<void>;
export function test(
  name: string,
  options: TestOptions & { conform?: FixtureOptions & { source?: "cassette" | "simulator" } },
  body: Body,
): Promise<void>;
