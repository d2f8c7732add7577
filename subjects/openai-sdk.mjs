#!/usr/bin/env node
// An agent with openai: responses.create, streamed, nothing stored at OpenAI, so
// that the reasoning comes encrypted and goes back with its calls.
import OpenAI from 'openai'
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems'
import { main, silence } from './loop.mjs'

// kept are the items that this agent knows; later ones are left out of the history.
const kept = ['reasoning', 'message', 'function_call']

// ask makes one response and returns it when it is complete.
async function ask(client, request) {
  const { signal, beat, stop } = silence()
  try {
    for await (const event of await client.responses.create({ ...request, stream: true }, { signal })) {
      beat()
      if (event.type === 'response.completed') return event.response
      if (event.type === 'response.incomplete') throw new Error(`the reply is incomplete: ${event.response.incomplete_details?.reason}`)
      if (event.type === 'response.failed') throw new Error(event.response.error?.message)
      if (event.type === 'error') throw new Error(event.message)
    }
    throw signal.reason ?? new Error('the reply was cut off')
  } finally {
    stop()
  }
}

await main('openai', async ({ model = 'gpt-5.2', effort, system, prompt, history, tools, call, save }) => {
  const client = new OpenAI()
  history.push({ role: 'user', content: prompt })
  for (;;) {
    await save()
    const { output, output_text: text } = await ask(client, {
      model, instructions: system, input: history, store: false, include: ['reasoning.encrypted_content'],
      reasoning: { effort, summary: 'auto' },
      tools: tools.map(t => ({ type: 'function', name: t.name, description: t.description, parameters: t.inputSchema, strict: false })),
    })
    if (output.some(i => i.content?.some(c => c.type === 'refusal'))) throw new Error('the model refused')
    history.push(...toResponseInputItems(output.filter(i => kept.includes(i.type))))
    const calls = output.filter(i => i.type === 'function_call')
    if (!calls.length) {
      await save()
      return text ?? output.flatMap(i => i.content ?? []).map(c => c.text ?? '').join('')
    }
    history.push(...await Promise.all(calls.map(async c => (
      { type: 'function_call_output', call_id: c.call_id, output: (await call(c.name, JSON.parse(c.arguments))).text }))))
  }
})
