// A small agent with three bugs: node my-agent.mjs [--resume] PROMPT. my-agent-fixed.mjs
// is the same without them.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
const args = process.argv.slice(2), file = process.env.HOME + "/my-agent.json";
const resume = args[0] === "--resume" && existsSync(file);
const messages = resume ? JSON.parse(readFileSync(file, "utf8")) : [];
const tools = [{ name: "echo", description: "Returns the text.", input_schema: { type: "object", properties: { text: { type: "string" } } } }];
messages.push({ role: "user", content: args.at(-1) });
for (;;) {
  writeFileSync(file, JSON.stringify(messages.filter((m) => m.role === "user"))); // bug 3
  const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: "claude-opus-4-5", max_tokens: 8000, thinking: { type: "enabled", budget_tokens: 2000 }, tools, messages }),
  });
  const reply = await response.json();
  if (!response.ok) throw new Error(reply.error.message);
  messages.push({ role: "assistant", content: reply.content.map(({ signature, ...block }) => block) }); // bug 1
  const calls = reply.content.filter((block) => block.type === "tool_use");
  if (reply.stop_reason !== "tool_use") {
    writeFileSync(file, JSON.stringify(messages.filter((m) => m.role === "user"))); // bug 3
    console.log(reply.content.map((block) => block.text ?? "").join(""));
    process.exit(reply.stop_reason === "end_turn" ? 0 : 1);
  }
  const run = (call) => (call.name === "echo" ? { content: String(call.input.text ?? "") } : { content: `no tool ${call.name}; there is echo`, is_error: true });
  messages.push({ role: "user", content: calls.slice(0, 1).map((call) => ({ type: "tool_result", tool_use_id: call.id, ...run(call) })) }); // bug 2
}
