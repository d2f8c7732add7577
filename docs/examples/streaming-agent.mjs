// A small agent that streams: node streaming-agent.mjs PROMPT. It has one bug that shows only
// when a signature comes in more than one event, see docs/guides/live.md.
const tools = [{ name: "conform_echo", description: "Returns the text.", input_schema: { type: "object", properties: { text: { type: "string" } } } }];
const messages = [{ role: "user", content: process.argv.at(-1) }];

// readReply joins the events of a stream to the blocks of a message.
async function readReply(response) {
  const reply = { content: [] }, inputs = [];
  for (const line of (await response.text()).split("\n").filter((line) => line.startsWith("data: "))) {
    const event = JSON.parse(line.slice(6)), block = reply.content[event.index];
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "message_delta") reply.stop = event.delta.stop_reason;
    if (event.type === "content_block_start") reply.content[event.index] = event.content_block;
    if (event.type === "content_block_stop" && inputs[event.index]) block.input = JSON.parse(inputs[event.index]);
    if (event.type !== "content_block_delta") continue;
    const delta = event.delta;
    if (delta.type === "text_delta") block.text += delta.text;
    if (delta.type === "thinking_delta") block.thinking += delta.thinking;
    if (delta.type === "signature_delta") block.signature = delta.signature; // bug: must be +=
    if (delta.type === "input_json_delta") inputs[event.index] = (inputs[event.index] ?? "") + delta.partial_json;
  }
  return reply;
}

async function ask(attempt = 1) {
  const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: "claude-sonnet-4-6", max_tokens: 8000, stream: true, thinking: { type: "enabled", budget_tokens: 2000 }, tools, messages }),
  });
  if ([429, 503, 529].includes(response.status) && attempt < 4) return ask(attempt + 1);
  if (!response.ok) throw new Error((await response.json()).error.message);
  return readReply(response);
}

for (;;) {
  const { content, stop } = await ask();
  messages.push({ role: "assistant", content });
  if (stop !== "tool_use") {
    console.log(content.map((block) => block.text ?? "").join(""));
    process.exit(stop === "end_turn" ? 0 : 1);
  }
  const calls = content.filter((block) => block.type === "tool_use");
  messages.push({ role: "user", content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: String(call.input.text ?? "") })) });
}
