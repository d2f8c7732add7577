#!/usr/bin/env node
// An agent with the AI SDK: streamText runs the rounds. The messages are saved after
// each of them, so that a round that fails does not take the others with it.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { dynamicTool, isStepCount, jsonSchema, streamText } from 'ai'
import { main } from './loop.mjs'

const { ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY, OPENAI_API_KEY } = process.env
const at = (url, version = '') => url && { baseURL: url + version }
const providers = {
  anthropic: {
    first: 'claude-sonnet-4-6',
    open: model => createAnthropic(at(ANTHROPIC_BASE_URL, '/v1'))(model),
    options: (model, effort) => effort && ({ anthropic: /4-5/.test(model)
      ? { thinking: { type: 'enabled', budgetTokens: 2048 } } : { thinking: { type: 'adaptive' }, effort } }),
  },
  openai: {
    first: 'gpt-5.2',
    open: model => createOpenAI(at(OPENAI_BASE_URL)).responses(model),
    options: (model, effort) => ({ openai: { store: false, include: ['reasoning.encrypted_content'], reasoningEffort: effort, reasoningSummary: effort && 'auto' } }),
  },
  gemini: {
    first: 'gemini-3-flash-preview',
    open: model => createGoogle({ apiKey: GEMINI_API_KEY, ...at(GOOGLE_GEMINI_BASE_URL, '/v1beta') })(model),
    options: (model, effort) => effort && ({ google: { thinkingConfig: { includeThoughts: true, thinkingLevel: effort } } }),
  },
  chat: {
    first: 'deepseek-v4-pro',
    open: model => createOpenAICompatible({ name: 'chat', apiKey: OPENAI_API_KEY, baseURL: OPENAI_BASE_URL ?? 'https://api.openai.com/v1' })(model),
    options: (model, effort) => effort && ({ chat: { reasoningEffort: effort } }),
  },
}

await main('ai', async ({ provider, model, effort, system, prompt, history, tools, call, save }) => {
  const { open, options, first } = providers[provider]
  history.push({ role: 'user', content: prompt })
  await save()
  let failure
  const run = streamText({
    model: open(model ?? first), instructions: system, messages: history, maxOutputTokens: 8192, timeout: { chunkMs: 20_000 },
    // A call that is cut off is not answered.
    stopWhen: [isStepCount(20), ({ steps }) => steps.at(-1).finishReason !== 'tool-calls'],
    onStepEnd: async ({ finishReason, response }) => {
      if (!['stop', 'tool-calls'].includes(finishReason)) return
      history.push(...response.messages)
      await save()
    },
    providerOptions: options(model ?? first, effort), onError: ({ error }) => { failure = error },
    tools: Object.fromEntries(tools.map(t => [t.name, dynamicTool({
      description: t.description, inputSchema: jsonSchema(t.inputSchema), execute: async args => {
        const { text, isError } = await call(t.name, args)
        if (isError) throw new Error(text)
        return text
      },
    })])),
  })
  await run.consumeStream({ onError: error => { failure ??= error } })
  if (failure) throw failure
  const finish = await run.finishReason
  if (finish !== 'stop') throw new Error(`the reply ended with ${finish}`)
  return run.text
})
