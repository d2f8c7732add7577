#!/usr/bin/env node
// A tool loop for the Anthropic Messages API that conform drives, see
// docs/guides/driver.md. Node's fetch uses the proxy of its environment
// (NODE_USE_ENV_PROXY, Node 22.21 and newer), so nothing is done for that here.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

class Unsupported extends Error {}

// parse keeps numbers as they were written, because a number of JavaScript rounds long ones,
// and what the model called must come back unchanged. stringify writes them again.
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
const parse = text => JSON.parse(text.replace(token, t => t[0] === '"' ? t : `"\\u0000${t}"`))
const stringify = value => JSON.stringify(value).replace(/"\\u0000(-?\d[\d.eE+-]*)"/g, '$1')

// Tools is a client of an MCP server on stdin and stdout.
class Tools {
  static async start({ command, env = [] }) {
    const tools = new Tools()
    const added = Object.fromEntries((env ?? []).map(e => [e.slice(0, e.indexOf('=')), e.slice(e.indexOf('=') + 1)]))
    tools.waiting = new Map()
    tools.server = spawn(command[0], command.slice(1), { env: { ...process.env, ...added }, stdio: ['pipe', 'pipe', 'inherit'] })
    tools.server.on('error', () => tools.end())
    tools.server.on('exit', () => tools.end())
    createInterface({ input: tools.server.stdout }).on('line', line => {
      const message = JSON.parse(line)
      if (!message.method) tools.waiting.get(message.id)?.(message)
    })
    await tools.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'agent.mjs', version: '1' } })
    tools.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
    tools.offered = (await tools.ask('tools/list', {})).tools.map(t => ({ name: t.name, description: t.description ?? '', input_schema: t.inputSchema }))
    return tools
  }

  write(message) { this.server.stdin.write(stringify(message) + '\n') }

  stop() {
    if (this.server.exitCode !== null || !this.server.kill()) return
    return new Promise(ended => this.server.once('exit', ended))
  }

  end() { for (const answer of this.waiting.values()) answer({ error: { message: 'the tool server has ended' } }) }

  async ask(method, params) {
    const id = (this.last = (this.last ?? 0) + 1)
    const answer = new Promise(resolve => this.waiting.set(id, resolve))
    this.write({ jsonrpc: '2.0', id, method, params })
    const { result, error } = await answer
    this.waiting.delete(id)
    if (error) throw new Error(error.message)
    return result
  }

  // call is the tool_result of one tool_use. A tool that fails is an answer, too.
  async call({ id, name, input }) {
    const result = { type: 'tool_result', tool_use_id: id }
    try {
      const said = await this.ask('tools/call', { name, arguments: input })
      const content = said.content.flatMap(part => part.type === 'image'
        ? [{ type: 'image', source: { type: 'base64', media_type: part.mimeType, data: part.data } }]
        : part.text ? [{ type: 'text', text: part.text }] : [])
      return { ...result, ...(content.length && { content }), ...(said.isError && { is_error: true }) }
    } catch (error) {
      return { ...result, content: `error: ${error.message}`, is_error: true }
    }
  }
}

class Conversation {
  constructor(opened) {
    if (opened.provider !== 'anthropic') throw new Unsupported(`this loop speaks to anthropic only, not to ${opened.provider}`)
    this.opened = opened
    this.messages = opened.session ?? []
  }

  request() {
    const { model, system, effort } = this.opened
    const thinking = model.includes('-4-5') ? { type: 'enabled', budget_tokens: 4096 } : { type: 'adaptive' }
    return stringify({
      model, max_tokens: 16000, messages: this.messages, ...(system && { system }),
      ...(this.tools && { tools: this.tools.offered }), ...(effort && effort !== 'none' && { thinking }),
    })
  }

  // askModel returns one reply. What the provider refuses for now is asked again.
  async askModel() {
    const url = (this.opened.base_url ?? 'https://api.anthropic.com') + '/v1/messages'
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': process.env.ANTHROPIC_API_KEY }
    for (let attempt = 0; ; attempt++) {
      const response = await fetch(url, { method: 'POST', headers, body: this.request(), signal: this.abort.signal })
      const reply = parse(await response.text())
      if (response.ok) return reply
      if (response.status === 400 && reply.error.message.includes('image') && this.dropImages()) continue
      if (![429, 500, 503, 504, 529].includes(response.status) || attempt === 3) throw new Error(`${response.status}: ${reply.error.message}`)
      const milliseconds = Number(response.headers.get('retry-after-ms'))
      const seconds = milliseconds / 1000 || Number(response.headers.get('retry-after')) || 0.5
      await new Promise(resolve => setTimeout(resolve, 1000 * Math.min(seconds, 5)))
    }
  }

  // dropImages puts a text in the place of each image of a tool, or every later request is refused too.
  dropImages() {
    let dropped = false
    for (const { content } of this.messages) for (const result of content) {
      if (result.type !== 'tool_result' || !Array.isArray(result.content)) continue
      dropped ||= result.content.some(part => part.type === 'image')
      result.content = result.content.map(part => part.type === 'image' ? { type: 'text', text: '(an image that the provider refused)' } : part)
    }
    return dropped
  }

  addPrompt(text) {
    if (text) this.messages.push({ role: 'user', content: [{ type: 'text', text }] })
  }

  async turn(text) {
    this.abort = new AbortController()
    if (this.opened.tools?.command) this.tools ??= await Tools.start(this.opened.tools)
    this.addPrompt(text)
    for (;;) {
      const { content, stop_reason: stop } = await this.askModel()
      if (['max_tokens', 'refusal', 'model_context_window_exceeded'].includes(stop)) {
        // A refusal is not sent back, and neither is what may be half a call or thought.
        const end = stop === 'refusal' ? 0 : content.findLastIndex(block => block.type === 'text') + 1
        const kept = content.slice(0, end).filter(block => block.type !== 'tool_use')
        if (kept.length) this.messages.push({ role: 'assistant', content: kept })
        throw new Error(`the reply stopped with ${stop}`)
      }
      if (content.length) this.messages.push({ role: 'assistant', content })
      const calls = content.filter(block => block.type === 'tool_use')
      if (calls.length) this.messages.push({ role: 'user', content: await Promise.all(calls.map(call => this.answer(call))) })
      else if (stop !== 'pause_turn') return content.filter(block => block.type === 'text').map(block => block.text).join('')
    }
  }

  // answer gives each call a result, also one that the user has called off.
  answer(call) {
    const calledOff = { type: 'tool_result', tool_use_id: call.id, content: 'called off by the user', is_error: true }
    const signal = this.abort.signal
    if (signal.aborted || !this.tools) return calledOff
    return Promise.race([this.tools.call(call), new Promise(resolve => signal.addEventListener('abort', () => resolve(calledOff)))])
  }

  async runTurn(command) {
    try {
      send(command, { type: 'ok', text: await this.turn(command.input ?? ''), stop: 'end' })
    } catch (error) {
      if (this.abort?.signal.aborted) send(command, { type: 'ok', text: '', stop: 'interrupted' })
      else send(command, { type: 'error', message: String(error.cause?.message ?? error.message) })
    }
  }
}

const send = (command, answer) => process.stdout.write(stringify({ id: command.id, ...answer }) + '\n')

let conversation
let running = Promise.resolve()

async function obey(command) {
  switch (command.type) {
    case 'hello':
      return send(command, { type: 'hello_ok', name: 'example-node', version: '1', providers: ['anthropic'],
        abilities: ['tools', 'resume', 'turns', 'interrupt', 'model', 'system'] })
    case 'open':
    case 'resume':
      conversation = new Conversation(command)
      return send(command, { type: 'ok' })
    case 'turn':
      return conversation.runTurn(command)
    case 'export':
      return send(command, { type: 'ok', session: conversation.messages })
    case 'close':
      await conversation?.tools?.stop()
      send(command, { type: 'ok' })
      return process.stdout.write('', () => process.exit(0))
  } // commands of newer versions are ignored
}

createInterface({ input: process.stdin }).on('line', line => {
  const command = parse(line)
  if (command.type === 'interrupt') return conversation?.abort?.abort()
  running = running.then(() => obey(command)).catch(error =>
    send(command, error instanceof Unsupported ? { type: 'unsupported', reason: error.message } : { type: 'error', message: error.message }))
})
