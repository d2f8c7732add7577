// @anthropic-ai/sdk: messages, streamed and not, counts, models.
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { all, altered, call, converse, echoSchema, emptySchema, refused, thrown } from './play.mjs'

const params = {
  model: 'claude-opus-4-5', max_tokens: 4096, system: 'Use the tools.', thinking: { type: 'enabled', budget_tokens: 2048 },
  tools: [{ name: 'conform_echo', description: 'Echoes.', input_schema: echoSchema }, { name: 'conform_noargs', input_schema: emptySchema }],
}
const open = urls => new Anthropic({ apiKey: 'made-up', baseURL: urls.anthropic })

class Talker {
  constructor(urls, streams) { Object.assign(this, { client: open(urls), streams, messages: [], results: [] }) }
  prompt(text) { this.messages.push({ role: 'user', content: text }) }
  answer(to, content) { this.results.push({ type: 'tool_result', tool_use_id: to.id, content }) }
  alter() {
    const block = this.messages.flatMap(m => m.content).find(b => b.type === 'thinking')
    block.signature = altered(block.signature)
  }
  async ask() {
    if (this.results.length) this.messages.push({ role: 'user', content: this.results.splice(0) })
    const request = { ...params, messages: this.messages }
    const { content, role, usage } = this.streams
      ? await this.client.messages.stream(request).finalMessage() : await this.client.messages.create(request)
    assert(usage.input_tokens > 0 && usage.output_tokens > 0)
    this.messages.push({ role, content })
    const items = content.map(b => ({ thinking: () => 'thought', text: () => b.text, tool_use: () => call(b.name, b.input) })[b.type]())
    return { items, calls: content.filter(b => b.type === 'tool_use') }
  }
}

export default {
  name: '@anthropic-ai/sdk', provider: 'anthropic',
  checks: {
    'loop by create': urls => converse(new Talker(urls.plain, false)),
    'loop by stream': urls => converse(new Talker(urls.plain, true)),
    async 'altered signature 400'(urls) {
      for (const streams of [true, false]) {
        const error = await refused(new Talker(urls.plain, streams))
        assert(error instanceof Anthropic.BadRequestError, error)
        assert.equal(error.error.error.type, 'invalid_request_error')
        assert.match(error.message, /messages\.1\.content\.0: Invalid `signature` in `thinking` block/)
        assert.ok(error.requestID)
      }
    },
    async 'count, models'(urls) {
      const client = open(urls.plain)
      const { max_tokens, ...counted } = params
      assert((await client.messages.countTokens({ ...counted, messages: [{ role: 'user', content: 'x' }] })).input_tokens > 10)
      const models = await all(client.models.list({ limit: 5 }))
      assert(models.length > 10)
      assert.equal((await client.models.retrieve('claude-opus-4-5')).id, 'claude-opus-4-5-20251101')
      assert(await thrown(() => client.models.retrieve('claude-0')) instanceof Anthropic.NotFoundError)
    },
    async '429 retried'(urls) {
      const talker = new Talker(urls.limited, true)
      talker.prompt('Call the tools.')
      assert.equal((await talker.ask()).calls.length, 3)
    },
    async 'error in stream'(urls) {
      const talker = new Talker(urls.failing, true)
      talker.prompt('Call the tools.')
      const error = await thrown(() => talker.ask())
      assert(error instanceof Anthropic.APIError && error.error.error.type === 'overloaded_error', error)
    },
    grease: urls => converse(new Talker(urls.greased, true)),
  },
}
