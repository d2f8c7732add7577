// What is done with every SDK: the scenario by a talker, and what must be seen.
//
// A talker holds a conversation by the means of an SDK: prompt(text), ask() gives
// {items, calls} and keeps the reply, answer(call, result), alter() changes a
// continuity token in the history.
import assert from 'node:assert/strict'

export const played = [
  'thought', 'Calling three.', 'echo {"text":"alpha"}', 'noargs {}', 'echo {"text":"beta"}',
  'thought', 'echo {"text":"gamma"}',
  'thought', 'They answered alpha, ok, beta and gamma.',
  'thought', 'echo {"text":"delta \\"ü\\" 🦊"}',
  'And delta.',
]

// call is a tool call as it stands in `played`.
export const call = (name, args) => `${name.replace('conform_', '')} ${JSON.stringify(args)}`

export async function converse(talker) {
  const seen = []
  for (const prompt of ['Call the tools.', 'And again.']) {
    talker.prompt(prompt)
    for (let rounds = 0, more = true; more && rounds < 5; rounds++) {
      const { items, calls } = await talker.ask()
      seen.push(...items)
      for (const c of calls) talker.answer(c, 'The tool answers.')
      more = calls.length > 0
    }
  }
  assert.deepEqual(seen, played)
}

// refused makes the first round, alters a token, and returns what is thrown then.
export async function refused(talker) {
  talker.prompt('Call the tools.')
  const { calls } = await talker.ask()
  assert.equal(calls.length, 3)
  for (const c of calls) talker.answer(c, 'The tool answers.')
  talker.alter()
  return thrown(() => talker.ask())
}

export async function thrown(f) {
  try { await f() } catch (error) { return error }
  assert.fail('nothing was thrown')
}

// altered is a token with a character in its middle changed.
export function altered(token) {
  const at = token.length >> 1
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
}

export const echoSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false }
export const emptySchema = { type: 'object', properties: {} }

// all reads an async iterable to its end.
export async function all(iterable) {
  const items = []
  for await (const item of iterable) items.push(item)
  return items
}
