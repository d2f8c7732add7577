// A small agent for Chat Completions: node chat-agent-fixed.mjs [--resume] PROMPT. chat-agent.mjs
// is the same with three bugs that are common in real agents.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
const args = process.argv.slice(2), file = process.env.HOME + "/chat-agent.json";
const resume = args[0] === "--resume" && existsSync(file);
const messages = resume ? JSON.parse(readFileSync(file, "utf8")) : [];
const tools = [{ type: "function", function: { name: "echo", description: "Returns the text.", parameters: { type: "object", properties: { text: { type: "string" } } } } }];
messages.push({ role: "user", content: args.at(-1) });
for (;;) {
  writeFileSync(file, JSON.stringify(messages));
  const response = await fetch((process.env.OPENAI_BASE_URL ?? "https://api.deepseek.com/v1") + "/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer " + process.env.OPENAI_API_KEY },
    body: JSON.stringify({ model: "deepseek-v4-pro", tools, messages }),
  });
  const reply = await response.json();
  if (!response.ok) throw new Error(reply.error.message);
  const [{ message, finish_reason: finish }] = reply.choices;
  messages.push(message);
  const calls = message.tool_calls ?? [];
  if (finish !== "tool_calls") {
    writeFileSync(file, JSON.stringify(messages));
    console.log(message.content);
    process.exit(finish === "stop" ? 0 : 1);
  }
  const text = (call) => (call.function.name === "echo" ? String(JSON.parse(call.function.arguments).text ?? "") : `error: no tool ${call.function.name}; there is echo`);
  messages.push(...calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: text(call) })));
}
