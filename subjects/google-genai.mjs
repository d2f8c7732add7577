#!/usr/bin/env node
// An agent with @google/genai: models.generateContentStream, all chunks of a turn in
// one content, each part as it came. The SDK's chats make a content of each chunk,
// and the next request is refused for the signatures. A kind of part that this agent
// does not know is not sent back.
import { GoogleGenAI } from '@google/genai'
import { main, silence } from './loop.mjs'

// ask makes one reply and returns its parts when it is complete.
async function ask(models, { config, ...request }) {
  const { signal, beat, stop } = silence()
  const parts = []
  let finish
  try {
    for await (const { candidates: [candidate] = [], promptFeedback } of
      await models.generateContentStream({ ...request, config: { ...config, abortSignal: signal } })) {
      beat()
      if (promptFeedback?.blockReason) throw new Error(`the prompt was blocked: ${promptFeedback.blockReason}`)
      parts.push(...(candidate?.content?.parts ?? []).filter(p => p.functionCall || p.text !== undefined))
      finish = candidate?.finishReason ?? finish
    }
  } finally {
    stop()
  }
  if (finish !== 'STOP') throw signal.reason ?? new Error(`the reply ended with ${finish ?? 'nothing'}`)
  return parts
}

await main('@google/genai', async ({ model = 'gemini-3-flash-preview', effort, system, prompt, history, tools, call, save }) => {
  const { models } = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY, httpOptions: { retryOptions: { attempts: 4 } } })
  const config = {
    systemInstruction: system, thinkingConfig: { includeThoughts: true, thinkingLevel: effort?.toUpperCase() },
    tools: [{ functionDeclarations: tools.map(t => ({ name: t.name, description: t.description, parametersJsonSchema: t.inputSchema })) }],
  }
  history.push({ role: 'user', parts: [{ text: prompt }] })
  for (;;) {
    await save()
    const parts = await ask(models, { model, contents: history, config })
    history.push({ role: 'model', parts })
    const calls = parts.flatMap(p => p.functionCall ?? [])
    if (!calls.length) {
      await save()
      return parts.filter(p => !p.thought).map(p => p.text ?? '').join('')
    }
    history.push({ role: 'user', parts: await Promise.all(calls.map(async ({ id, name, args }) => {
      const { text, isError } = await call(name, args)
      return { functionResponse: { id, name, response: isError ? { error: text } : { output: text } } }
    })) })
  }
})
