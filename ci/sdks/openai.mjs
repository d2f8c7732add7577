// openai: responses, streamed and not, with history here and there, counts, models.
import assert from 'node:assert/strict'
import OpenAI from 'openai'
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems'
import { all, altered, call, converse, echoSchema, emptySchema, refused, thrown } from './play.mjs'

const params = {
  model: 'gpt-5.5', instructions: 'Use the tools.', reasoning: { effort: 'high', summary: 'auto' },
  tools: [
    { type: 'function', name: 'conform_echo', description: 'Echoes.', parameters: echoSchema, strict: true },
    { type: 'function', name: 'conform_noargs', parameters: emptySchema, strict: false },
  ],
}
const open = urls => new OpenAI({ apiKey: 'made-up', baseURL: urls.openai })

// ways are those of asking for a response.
const ways = {
  create: (responses, request) => responses.create(request),
  stream: (responses, request) => responses.stream(request).finalResponse(),
  events: async (responses, request) => (await all(await responses.create({ ...request, stream: true }))).findLast(e => e.response).response,
}

class Talker {
  constructor(urls, way, stored) { Object.assign(this, { client: open(urls), way, stored, input: [] }) }
  prompt(text) { this.input.push({ role: 'user', content: text }) }
  answer(to, output) { this.input.push({ type: 'function_call_output', call_id: to.call_id, output }) }
  alter() {
    const item = this.input.find(i => i.type === 'reasoning')
    item.encrypted_content = altered(item.encrypted_content)
  }
  async ask() {
    const request = { ...params, input: this.input, store: this.stored, previous_response_id: this.last, include: this.stored ? [] : ['reasoning.encrypted_content'] }
    const response = await ways[this.way](this.client.responses, request)
    const { output, usage, status } = response
    assert(status === 'completed' && usage.total_tokens > 0)
    if (this.stored) this.last = response.id
    this.input = this.stored ? [] : [...this.input, ...toResponseInputItems(output)]
    const items = output.map(i => ({ reasoning: () => 'thought', message: () => i.content[0].text, function_call: () => call(i.name, JSON.parse(i.arguments)) })[i.type]())
    return { items, calls: output.filter(i => i.type === 'function_call') }
  }
}

export default {
  name: 'openai', provider: 'openai',
  checks: {
    'loop by create': urls => converse(new Talker(urls.plain, 'create', false)),
    'loop by stream': urls => converse(new Talker(urls.plain, 'stream', false)),
    'loop by events': urls => converse(new Talker(urls.plain, 'events', false)),
    'loop stored by create': urls => converse(new Talker(urls.plain, 'create', true)),
    'loop stored by stream': urls => converse(new Talker(urls.plain, 'stream', true)),
    async 'altered encrypted_content 400'(urls) {
      for (const way of Object.keys(ways)) {
        const error = await refused(new Talker(urls.plain, way, false))
        assert(error instanceof OpenAI.BadRequestError, error)
        assert.equal(error.code, 'invalid_encrypted_content')
        assert.equal(error.type, 'invalid_request_error')
      }
    },
    async 'unknown parameter 400'(urls) {
      const error = await thrown(() => open(urls.plain).responses.create({ ...params, input: 'x', novelty: 1 }))
      assert.deepEqual([error.status, error.code, error.param, error.type], [400, 'unknown_parameter', 'novelty', 'invalid_request_error'])
    },
    async 'retrieve, resume, cancel, input items, delete'(urls) {
      const { responses } = open(urls.plain)
      const made = await responses.create({ ...params, input: 'Call the tools.' })
      assert.equal((await responses.retrieve(made.id)).output.length, 5)
      const events = await all(await responses.retrieve(made.id, { stream: true, starting_after: 5 }))
      assert.deepEqual([events[0].sequence_number, events.at(-1).type, events.at(-1).response.id], [6, 'response.completed', made.id])
      const [item] = await all(responses.inputItems.list(made.id))
      assert.deepEqual([item.type, item.role, item.content[0].text], ['message', 'user', 'Call the tools.'])
      assert((await thrown(() => responses.cancel(made.id))).status === 400)
      await responses.delete(made.id)
      assert(await thrown(() => responses.retrieve(made.id)) instanceof OpenAI.NotFoundError)
      const later = await responses.create({ ...params, input: 'Call the tools.', background: true })
      assert.deepEqual([later.status, (await responses.cancel(later.id)).status], ['queued', 'cancelled'])
    },
    async 'count, models'(urls) {
      const client = open(urls.plain)
      assert((await client.responses.inputTokens.count({ ...params, input: 'x' })).input_tokens > 10)
      assert((await all(client.models.list())).some(m => m.id === 'gpt-5.5'))
      assert.equal((await client.models.retrieve('gpt-5.5')).object, 'model')
      assert.equal((await thrown(() => client.models.retrieve('gpt-0'))).code, 'model_not_found')
    },
    async '429 retried'(urls) {
      const talker = new Talker(urls.limited, 'stream', false)
      talker.prompt('Call the tools.')
      assert.equal((await talker.ask()).calls.length, 3)
    },
    async 'error in stream'(urls) {
      const talker = new Talker(urls.failing, 'stream', false)
      talker.prompt('Call the tools.')
      const error = await thrown(() => talker.ask())
      assert(error instanceof OpenAI.OpenAIError, error)
    },
    grease: urls => converse(new Talker(urls.greased, 'events', false)),
    'unknown fields': urls => converse(new Talker(urls.fields, 'stream', false)),
    // The helper accumulates, and knows no event that it was not written for.
    async 'fact: responses.stream fails on an unknown event'(urls) {
      const error = await thrown(() => converse(new Talker(urls.greased, 'stream', false)))
      assert.match(error.message, /Unhandled response stream event/)
    },
  },
}
