// Runs every check of every SDK against simulators and prints a line for each SDK.
// A warning that an SDK prints is a complaint, as an error is.
import { readFile } from 'node:fs/promises'
import ai from './ai.mjs'
import anthropic from './anthropic.mjs'
import gemini from './gemini.mjs'
import openai from './openai.mjs'
import { simulate, stopAll } from './simulate.mjs'

const complaints = []
for (const level of ['log', 'info', 'warn', 'error']) console[level] = (...words) => complaints.push(words.map(String).join(' '))
process.removeAllListeners('warning')
process.on('warning', warning => complaints.push(String(warning)))
process.on('unhandledRejection', reason => complaints.push(`not handled: ${reason}`))

const version = async name => JSON.parse(await readFile(`node_modules/${name}/package.json`, 'utf8')).version
async function title(name) {
  const parts = []
  for (const word of name.split(' ')) parts.push(word === 'with' ? word : `${word} ${await version(word)}`)
  return parts.join(' ')
}

let failed = 0
try {
  const urls = {
    plain: await simulate('plain'),
    limited: await simulate('limited', 'refuse: {kind: rate_limit, retry: seconds}'),
    failing: await simulate('failing', 'error: {kind: overloaded, after: 2}'),
    fields: await simulate('fields', 'grease: [unknown_field]'),
    greased: await simulate('greased', 'grease: [unknown_event, unknown_field]'),
  }
  for (const { name, checks } of [anthropic, openai, gemini, ...ai]) {
    const done = []
    for (const [what, check] of Object.entries(checks)) {
      complaints.length = 0
      try {
        await check(urls)
        await new Promise(resolve => setImmediate(resolve)) // warnings come late
        if (complaints.length) throw new Error(`it complains: ${complaints.join('; ')}`)
        done.push(what)
      } catch (error) {
        failed++
        process.stdout.write(`FAIL  ${name}: ${what}: ${error?.stack ?? error}\n`)
      }
    }
    process.stdout.write(`${await title(name)}: ${done.join(', ')}\n`)
  }
} finally {
  stopAll()
}
process.stdout.write(failed ? `sdks: ${failed} failed\n` : 'sdks: none complains\n')
process.exit(failed ? 1 : 0)
