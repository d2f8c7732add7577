import { test } from "@meerkat-go/conform/node-test";
import { loop } from "./loop.mjs";

test("calls a tool", async () => {
  await loop('Call echo with "heron".');
});
