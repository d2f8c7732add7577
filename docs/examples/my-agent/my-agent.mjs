// my-agent-fixed.mjs with three bugs that agents really have: node my-agent.mjs [--continue] PROMPT
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const args = process.argv.slice(2)
const session = `${process.env.HOME}/my-agent.json`
const messages = args[0] === '--continue' && existsSync(session) ? JSON.parse(readFileSync(session)) : []
for (const m of messages) if (m.role === 'assistant') m.content = m.content.filter(b => b.type !== 'tool_use') // 1: a resumed session has lost its calls
const tools = [{ name: 'echo', description: 'Says a text back.', input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } }]
const url = `${process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com'}/v1/messages`
const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': process.env.ANTHROPIC_API_KEY }

const save = () => writeFileSync(session, JSON.stringify(messages))

async function ask() {
  const body = { model: 'claude-opus-4-5', max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 2048 }, tools, messages }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const reply = await response.json()
  if (!['end_turn', 'tool_use'].includes(reply.stop_reason)) throw new Error(`the model stopped: ${reply.stop_reason}`)
  return reply
}

messages.push({ role: 'user', content: args.at(-1) })
for (;;) {
  save() // a request is answered or sent again as it is
  const reply = await ask()
  for (const block of reply.content) if (block.thinking) block.thinking = block.thinking.trim().replaceAll('.', '') // 2: signed text is edited
  messages.push({ role: 'assistant', content: reply.content })
  const calls = reply.content.filter(block => block.type === 'tool_use')
  for (const block of reply.content) if (block.type === 'text') console.log(block.text)
  if (reply.stop_reason !== 'tool_use') break
  messages.push({ role: 'user', content: calls.slice(0, 1).map(call => ({ type: 'tool_result', tool_use_id: call.id, content: String(call.input.text) })) }) // 3: only the first call is answered
}
save()
