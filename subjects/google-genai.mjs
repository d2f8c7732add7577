#!/usr/bin/env node
// An agent with @google/genai: models.generateContentStream, all chunks of a turn in
// one content, each part as it came. The SDK's chats make a content of each chunk,
// and the next request is refused for the signatures. A kind of part that this agent
// does not know is not sent back.
import { GoogleGenAI } from '@google/genai'
import { main } from './loop.mjs'

await main(async ({ model, effort, system, prompt, history, tools, call, save }) => {
  const { models } = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY })
  const config = {
    systemInstruction: system, thinkingConfig: { includeThoughts: true, thinkingLevel: effort?.toUpperCase() },
    tools: [{ functionDeclarations: tools.map(t => ({ name: t.name, description: t.description, parametersJsonSchema: t.inputSchema })) }],
  }
  history.push({ role: 'user', parts: [{ text: prompt }] })
  for (;;) {
    await save()
    const parts = []
    let finish
    for await (const { candidates: [candidate] = [], promptFeedback } of await models.generateContentStream({ model, contents: history, config })) {
      if (promptFeedback?.blockReason) throw new Error(`the prompt was blocked: ${promptFeedback.blockReason}`)
      parts.push(...(candidate?.content?.parts ?? []).filter(p => p.functionCall || p.text !== undefined))
      finish = candidate?.finishReason ?? finish
    }
    if (finish !== 'STOP') throw new Error(`the reply ended with ${finish ?? 'nothing'}`)
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
