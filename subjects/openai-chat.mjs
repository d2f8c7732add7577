#!/usr/bin/env node
// An agent with openai: chat.completions.create, streamed. The parts of a message are joined as the API
// reference describes them; reasoning that a compatible host adds goes back with its message.
import OpenAI from 'openai'
import { main, silence } from './loop.mjs'

// ask makes one reply and returns its message when it is complete.
async function ask(client, request) {
  const { signal, beat, stop } = silence()
  const message = { role: 'assistant', content: null }, calls = []
  let finish
  try {
    for await (const { choices: [choice] } of await client.chat.completions.create({ ...request, stream: true }, { signal })) {
      beat()
      if (!choice) continue // usage
      const { content, reasoning_content: reasoning, refusal, tool_calls: pieces } = choice.delta
      if (content) message.content = (message.content ?? '') + content
      if (reasoning != null) message.reasoning_content = (message.reasoning_content ?? '') + reasoning
      if (refusal) throw new Error('the model refused')
      for (const { index, id, function: f } of pieces ?? []) {
        calls[index] ??= { id, type: 'function', function: { name: f.name, arguments: '' } }
        calls[index].function.arguments += f.arguments ?? ''
      }
      finish = choice.finish_reason ?? finish
    }
    if (!finish) throw signal.reason ?? new Error('the reply was cut off')
    if (!['stop', 'tool_calls'].includes(finish)) throw new Error(`the reply ended with ${finish}`)
    if (calls.length) message.tool_calls = calls
    return message
  } finally {
    stop()
  }
}

await main('openai', async ({ model = 'deepseek-v4-pro', effort, system, prompt, history, tools, call, save }) => {
  const client = new OpenAI()
  if (system && !history.length) history.push({ role: 'system', content: system })
  history.push({ role: 'user', content: prompt })
  const offered = tools.map(t => ({ type: 'function', function: { name: t.name, description: t.description, parameters: t.inputSchema } }))
  for (;;) {
    await save()
    const message = await ask(client, { model, messages: history, reasoning_effort: effort, ...offered.length && { tools: offered } })
    history.push(message)
    if (!message.tool_calls) {
      await save()
      return message.content ?? ''
    }
    history.push(...await Promise.all(message.tool_calls.map(async ({ id, function: f }) => (
      { role: 'tool', tool_call_id: id, content: (await call(f.name, JSON.parse(f.arguments || '{}'))).text }))))
  }
})
