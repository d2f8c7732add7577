// Asks a provider one question by its own SDK and prints every event of the
// stream as the SDK gives it, one JSON document a line:
//
//	node ask.mjs anthropic|openai|gemini
//
// Keys and base URLs come from the environment, as the SDKs read them.

const prompt = 'Name one bird.'

const clients = {
  async anthropic() {
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    return new Anthropic({ maxRetries: 0 }).messages.create({
      model: 'claude-opus-4-5', max_tokens: 4096, stream: true,
      thinking: { type: 'enabled', budget_tokens: 2048 },
      messages: [{ role: 'user', content: prompt }],
    })
  },
  async openai() {
    const { default: OpenAI } = await import('openai')
    return new OpenAI({ maxRetries: 0 }).responses.create({
      model: 'gpt-5.2', stream: true, store: false, include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'high', summary: 'auto' }, input: prompt,
    })
  },
  async gemini() {
    const { GoogleGenAI } = await import('@google/genai')
    return new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY }).models.generateContentStream({
      model: 'gemini-3-flash-preview', contents: prompt,
      config: { thinkingConfig: { includeThoughts: true } },
    })
  },
}

try {
  // What the SDK adds about the connection (sdkHttpResponse) is not the stream's.
  for await (const { sdkHttpResponse, ...event } of await clients[process.argv[2]]()) {
    console.log(JSON.stringify(event))
  }
} catch (error) {
  console.error(`${error}${error.cause ? ` (${error.cause.message})` : ''}`)
  process.exit(1)
}
