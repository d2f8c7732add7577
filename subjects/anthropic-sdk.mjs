#!/usr/bin/env node
// An agent with @anthropic-ai/sdk: messages.stream, the history as it was received.
import Anthropic from '@anthropic-ai/sdk'
import { main, silence } from './loop.mjs'

// thinking of older models has a budget, newer ones decide by the effort.
const thinking = (model, effort) => !effort ? {} : /4-5/.test(model)
  ? { thinking: { type: 'enabled', budget_tokens: 2048 } }
  : { thinking: { type: 'adaptive' }, output_config: { effort } }

// known are the blocks that go back; the API refuses a kind that this agent has never
// heard of, and so does this agent.
const known = ['text', 'thinking', 'redacted_thinking', 'tool_use']

// ask makes one reply and returns it when it is complete.
async function ask(client, request) {
  const { signal, beat, stop } = silence()
  try {
    return await client.messages.stream(request, { signal }).on('streamEvent', beat).finalMessage()
  } finally {
    stop()
  }
}

// dropImages puts a text in the place of each image of the history: what the API cannot
// read it refuses in every later request. It says whether there was one.
function dropImages(history) {
  const results = history.flatMap(m => Array.isArray(m.content) ? m.content : []).filter(b => b.type === 'tool_result')
  const held = results.filter(r => r.content.some(c => c.type === 'image'))
  for (const r of held) r.content = r.content.map(c => c.type === 'image' ? { type: 'text', text: '(an image that cannot be read)' } : c)
  return held.length > 0
}

const block = c => c.type === 'image'
  ? { type: 'image', source: { type: 'base64', media_type: c.mimeType, data: c.data } }
  : { type: 'text', text: c.text ?? JSON.stringify(c) }

await main('@anthropic-ai/sdk', async ({ model = 'claude-sonnet-4-6', effort, system, prompt, history, tools, call, save }) => {
  const client = new Anthropic()
  history.push({ role: 'user', content: prompt })
  for (;;) {
    await save()
    let reply
    try {
      reply = await ask(client, {
        model, max_tokens: 8192, system, messages: history, ...thinking(model, effort),
        tools: tools.map(t => ({ name: t.name, description: t.description, input_schema: t.inputSchema })),
      })
    } catch (error) {
      if (error.status !== 400 || !/image/.test(error.message) || !dropImages(history)) throw error
      continue
    }
    if (!['end_turn', 'stop_sequence', 'tool_use', 'pause_turn'].includes(reply.stop_reason)) {
      throw new Error(`the reply ended with ${reply.stop_reason}`)
    }
    history.push({ role: reply.role, content: reply.content.filter(b => known.includes(b.type)) })
    const calls = reply.content.filter(b => b.type === 'tool_use')
    if (calls.length) {
      const results = await Promise.all(calls.map(async c => {
        const { content, isError } = await call(c.name, c.input)
        return { type: 'tool_result', tool_use_id: c.id, content: content.map(block), is_error: isError }
      }))
      history.push({ role: 'user', content: results })
    } else if (reply.stop_reason !== 'pause_turn') {
      await save()
      return reply.content.filter(b => b.type === 'text').map(b => b.text).join('')
    }
  }
})
