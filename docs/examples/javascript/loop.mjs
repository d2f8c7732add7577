// A loop for Anthropic's API with one tool. FORGET_SIGNATURES=1 gives it a bug that many have.
const tools = [
  {
    name: "echo",
    description: "Returns the text.",
    input_schema: { type: "object", properties: { text: { type: "string" } } },
  },
];

export async function loop(prompt, env = process.env) {
  const messages = [{ role: "user", content: prompt }];
  for (;;) {
    const response = await fetch(env.ANTHROPIC_BASE_URL + "/v1/messages", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-api-key": env.ANTHROPIC_API_KEY,
        "anthropic-version": "2023-06-01",
      },
      body: JSON.stringify({
        model: "claude-opus-4-5",
        max_tokens: 8000,
        thinking: { type: "enabled", budget_tokens: 2000 },
        tools,
        messages,
      }),
    });
    const reply = await response.json();
    if (!response.ok) return reply.error.message; // the test looks at it
    const content = env.FORGET_SIGNATURES ? reply.content.map(({ signature, ...block }) => block) : reply.content;
    messages.push({ role: "assistant", content });
    const calls = content.filter((block) => block.type === "tool_use");
    if (!calls.length) return content.map((block) => block.text ?? "").join("");
    messages.push({
      role: "user",
      content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: String(call.input.text) })),
    });
  }
}
