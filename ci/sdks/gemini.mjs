// @google/genai: chats, streams, counts, models.
import assert from 'node:assert/strict'
import { ApiError, GoogleGenAI } from '@google/genai'
import { all, altered, call, converse, echoSchema, emptySchema, refused, thrown } from './play.mjs'

const model = 'gemini-3.5-flash'
const config = {
  systemInstruction: 'Use the tools.', thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' },
  tools: [{ functionDeclarations: [
    { name: 'conform_echo', description: 'Echoes.', parametersJsonSchema: echoSchema },
    { name: 'conform_noargs', description: 'Answers.', parametersJsonSchema: emptySchema },
  ] }],
}
// The SDK retries only when it is told to.
const open = (urls, options = {}) => new GoogleGenAI({ apiKey: 'made-up', httpOptions: { baseUrl: urls.gemini, ...options } })

// heard is what a turn says; pieces of a text and of a thought are one.
function heard(parts) {
  const items = []
  let kind, calls = []
  for (const p of parts) {
    if (p.functionCall) {
      items.push(call(p.functionCall.name, p.functionCall.args)), calls.push(p.functionCall), kind = ''
    } else if (p.text) {
      const is = p.thought ? 'thought' : 'text'
      if (is === kind) items.push(p.thought ? items.pop() : items.pop() + p.text)
      else items.push(p.thought ? 'thought' : p.text)
      kind = is
    }
  }
  return { items, calls }
}

const result = (to, output) => ({ functionResponse: { id: to.id, name: to.name, response: { output } } })

// ChatTalker leaves the history to the SDK.
class ChatTalker {
  constructor(urls) { Object.assign(this, { chat: open(urls).chats.create({ model, config }), next: [] }) }
  prompt(text) { this.next.push({ text }) }
  answer(to, output) { this.next.push(result(to, output)) }
  alter() {
    const part = this.chat.history.flatMap(c => c.parts).find(p => p.thoughtSignature)
    part.thoughtSignature = altered(part.thoughtSignature)
  }
  async ask() {
    const response = await this.chat.sendMessage({ message: this.next.splice(0) })
    assert(response.usageMetadata.totalTokenCount > 0)
    return heard(response.candidates[0].content.parts)
  }
}

// StreamTalker puts the chunks together to one content a turn, as Gemini asks.
class StreamTalker {
  constructor(urls, options) { Object.assign(this, { models: open(urls, options).models, contents: [], next: [] }) }
  prompt(text) { this.next.push({ text }) }
  answer(to, output) { this.next.push(result(to, output)) }
  alter() {
    const part = this.contents.flatMap(c => c.parts).find(p => p.thoughtSignature)
    part.thoughtSignature = altered(part.thoughtSignature)
  }
  async ask() {
    this.contents.push({ role: 'user', parts: this.next.splice(0) })
    const chunks = await all(await this.models.generateContentStream({ model, contents: this.contents, config }))
    const parts = chunks.flatMap(c => c.candidates?.[0].content?.parts ?? [])
    this.contents.push({ role: 'model', parts })
    return heard(parts)
  }
}

export default {
  name: '@google/genai', provider: 'gemini',
  checks: {
    'loop by chat': urls => converse(new ChatTalker(urls.plain)),
    'loop by stream': urls => converse(new StreamTalker(urls.plain)),
    async 'altered thoughtSignature 400'(urls) {
      for (const talker of [new ChatTalker(urls.plain), new StreamTalker(urls.plain)]) {
        const error = await refused(talker)
        assert(error instanceof ApiError && error.status === 400, error)
        assert.match(JSON.parse(error.message).error.message, /thought signature/)
      }
    },
    async 'count, models'(urls) {
      const { models } = open(urls.plain)
      assert((await models.countTokens({ model, contents: 'x' })).totalTokens > 0)
      assert((await all(await models.list({ config: { pageSize: 3 } }))).some(m => m.name === `models/${model}`))
      assert.equal((await models.get({ model })).name, `models/${model}`)
      assert.equal((await thrown(() => models.get({ model: 'gemini-0' }))).status, 404)
    },
    async '429 retried'(urls) {
      const talker = new StreamTalker(urls.limited, { retryOptions: { attempts: 3 } })
      talker.prompt('Call the tools.')
      assert.equal((await talker.ask()).calls.length, 3)
    },
    async 'error in stream'(urls) {
      const talker = new StreamTalker(urls.failing)
      talker.prompt('Call the tools.')
      const error = await thrown(() => talker.ask())
      assert(error instanceof ApiError && error.status === 503, error)
    },
    grease: urls => converse(new StreamTalker(urls.greased)),
    // A chat makes each chunk a content of its own; from Gemini 3 on the second of
    // two calls then looks like a step without a signature (rule G-17).
    async 'fact: a streaming chat splits calls'(urls) {
      const chat = open(urls.plain).chats.create({ model, config })
      const chunks = await all(await chat.sendMessageStream({ message: 'Call the tools.' }))
      const results = chunks.flatMap(c => c.functionCalls ?? []).map(c => result(c, 'x'))
      const error = await thrown(async () => all(await chat.sendMessageStream({ message: results })))
      assert.match(error.message, /missing a thought_signature/)
    },
  },
}
