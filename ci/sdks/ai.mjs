// ai with each provider's package: it runs the rounds itself and keeps the messages.
import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { altered, call, echoSchema, emptySchema, played, thrown } from './play.mjs'

const execute = async () => 'The tool answers.'
const tools = {
  conform_echo: tool({ description: 'Echoes.', inputSchema: jsonSchema(echoSchema), execute }),
  conform_noargs: tool({ description: 'Answers.', inputSchema: jsonSchema(emptySchema), execute }),
}

// The providers: how they are opened, what makes them think, and where a
// continuity token stands in a message part.
const makers = {
  anthropic: {
    open: url => createAnthropic({ apiKey: 'made-up', baseURL: `${url}/v1` })('claude-opus-4-5'),
    options: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }, token: 'signature',
  },
  openai: {
    open: url => createOpenAI({ apiKey: 'made-up', baseURL: url }).responses('gpt-5.5'),
    options: { openai: { store: false, reasoningEffort: 'high', reasoningSummary: 'auto', include: ['reasoning.encrypted_content'] } }, token: 'reasoningEncryptedContent',
  },
  gemini: {
    open: url => createGoogle({ apiKey: 'made-up', baseURL: `${url}/v1beta` })('gemini-3.5-flash'),
    options: { google: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } } }, token: 'thoughtSignature',
  },
}

// run makes the rounds after a prompt, or goes on from messages, and gives what was
// said and the messages that follow.
async function run(maker, urls, provider, streams, messages, rounds = 5) {
  const request = {
    model: maker.open(urls[provider]), instructions: 'Use the tools.', messages, tools, providerOptions: maker.options,
    stopWhen: isStepCount(rounds), maxOutputTokens: 4096,
  }
  let result
  if (streams) {
    let failure
    const stream = streamText({ ...request, onError: ({ error }) => { failure = error } })
    await stream.consumeStream()
    if (failure) throw failure
    result = { steps: await stream.steps, messages: await stream.responseMessages }
  } else {
    const made = await generateText(request)
    result = { steps: made.steps, messages: made.responseMessages }
  }
  assert.deepEqual(result.steps.flatMap(s => s.warnings ?? []), [])
  return { items: result.steps.flatMap(s => said(s.content)), messages: result.messages }
}

// said is what a step says; thoughts that follow each other are one.
function said(content) {
  const items = []
  for (const part of content) {
    if (part.type === 'reasoning' && items.at(-1) !== 'thought') items.push('thought')
    if (part.type === 'text' && part.text) items.push(part.text)
    if (part.type === 'tool-call') items.push(call(part.toolName, part.input))
  }
  return items
}

async function converse(maker, urls, provider, streams) {
  const messages = [], seen = []
  for (const content of ['Call the tools.', 'And again.']) {
    messages.push({ role: 'user', content })
    const reply = await run(maker, urls, provider, streams, messages)
    seen.push(...reply.items)
    messages.push(...reply.messages)
  }
  assert.deepEqual(seen, played)
}

// alter changes the first token in messages.
function alter(messages, name) {
  for (const part of messages.flatMap(m => Array.isArray(m.content) ? m.content : [])) {
    for (const options of Object.values(part.providerOptions ?? {})) {
      if (options[name]) return void (options[name] = altered(options[name]))
    }
  }
  assert.fail(`no ${name} in the messages`)
}

function checks(provider) {
  const maker = makers[provider]
  return {
    'loop by generateText': urls => converse(maker, urls.plain, provider, false),
    'loop by streamText': urls => converse(maker, urls.plain, provider, true),
    async 'altered token 400'(urls) {
      for (const streams of [true, false]) {
        const messages = [{ role: 'user', content: 'Call the tools.' }]
        messages.push(...(await run(maker, urls.plain, provider, streams, messages, 1)).messages)
        alter(messages, maker.token)
        const error = await thrown(() => run(maker, urls.plain, provider, streams, messages))
        assert(APICallError.isInstance(error) && error.statusCode === 400, error)
        assert.match(error.message, /signature|could not be verified/)
      }
    },
    '429 retried': urls => run(maker, urls.limited, provider, true, [{ role: 'user', content: 'Call the tools.' }], 1),
    'error in stream': urls => thrown(() => run(maker, urls.failing, provider, true, [{ role: 'user', content: 'Call the tools.' }], 1)),
    'unknown fields': urls => converse(maker, urls.fields, provider, true),
    ...(provider === 'anthropic' ? {
      // It holds every event against the types that it knows.
      async 'fact: an unknown event is an error'(urls) {
        const error = await thrown(() => converse(maker, urls.greased, provider, true))
        assert.equal(error.name, 'AI_TypeValidationError')
      },
    } : { 'unknown events': urls => converse(maker, urls.greased, provider, true) }),
  }
}

export default ['anthropic', 'openai', 'gemini'].map(provider => (
  { name: `ai with @ai-sdk/${provider === 'gemini' ? 'google' : provider}`, provider, checks: checks(provider) }))
