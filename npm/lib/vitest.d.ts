import type { TestAPI } from "vitest";
import type { FixtureOptions, Session } from "./index.js";

/** test of Vitest with the fixtures cassette and simulator. */
export const test: TestAPI<{ cassette: Session; simulator: Session; conformOptions: FixtureOptions }>;
