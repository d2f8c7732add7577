#!/usr/bin/env node
// An agent with OpenAI Agents: the runner makes the rounds and keeps the history.
import { Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { main, silence } from './loop.mjs'

setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI())

await main('@openai/agents', async ({ provider, model, effort, system, prompt, history, tools, call, save }) => {
  const isChat = provider === 'chat'
  if (isChat) setOpenAIAPI('chat_completions')
  const agent = new Agent({
    name: 'loop', instructions: system, model: model ?? (isChat ? 'gpt-4.1' : 'gpt-5.2'),
    modelSettings: isChat ? { store: false, reasoning: effort && { effort } } : { store: false, reasoning: { effort, summary: 'auto' }, providerData: { include: ['reasoning.encrypted_content'] } },
    tools: tools.map(t => tool({
      name: t.name, description: t.description ?? '', parameters: t.inputSchema, strict: false,
      execute: async args => (await call(t.name, args)).text,
    })),
  })
  history.push({ role: 'user', content: prompt })
  await save()
  const { signal, beat, stop } = silence()
  const result = await run(agent, history, { stream: true, maxTurns: 20, signal })
  try {
    for await (const _ of result) beat()
    await result.completed
    signal.throwIfAborted()
  } finally {
    stop()
    history.splice(0, Infinity, ...result.history)
    await save()
  }
  return result.finalOutput
})
