import { test } from "@meerkat-go/conform/vitest";
import { loop } from "./loop.mjs";

test("calls a tool", async ({ cassette }) => {
  await loop('Call echo with "heron".');
});
