// What the loops here share: the command line, tools from an MCP server, and a
// session in a file. Each loop is one function, written as its SDK's users write it:
//
//	anthropic-sdk.mjs [flags] PROMPT
//
// It gets {model, effort, system, prompt, history, tools, call, save}, makes one
// turn and returns what the model said at its end. Base URLs and keys come from the
// environment, as the SDKs read them.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const options = {
  provider: { type: 'string' }, // for loops that know several
  model: { type: 'string' },
  effort: { type: 'string' },
  system: { type: 'string' },
  'mcp-config': { type: 'string' }, // a file with {"mcpServers": {NAME: {command, args, env}}}
  session: { type: 'string', default: 'session.json' },
  resume: { type: 'boolean', default: false },
  version: { type: 'boolean' },
}

// main runs one turn of a loop, or says its error with exit code 1. --version is the
// version of the SDK.
export async function main(sdk, loop) {
  let servers = []
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    if (values.version) {
      return console.log(createRequire(import.meta.url)('./package.json').dependencies[sdk])
    }
    servers = await connect(values['mcp-config'])
    const history = values.resume ? JSON.parse(await readFile(values.session, 'utf8')) : []
    const said = await loop({
      ...values, prompt: positionals.join(' '), history, servers, ...await offered(servers),
      save: () => store(values.session, history),
    })
    console.log(said)
  } catch (error) {
    console.error(error.stack ?? String(error))
    process.exitCode = 1
  } finally {
    for (const server of servers) await server.close()
  }
}

// silence is a clock for a stream: its signal aborts when nothing has called beat for
// so many seconds, because a stream may stay open and never go on.
export function silence(seconds = 20) {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new Error(`the stream was silent for ${seconds} s`)), seconds * 1000)
  return { signal: controller.signal, beat: () => timer.refresh(), stop: () => clearTimeout(timer) }
}

// connect starts the MCP servers of a file.
async function connect(file) {
  if (!file) return []
  const { mcpServers } = JSON.parse(await readFile(file, 'utf8'))
  return Promise.all(Object.values(mcpServers).map(async ({ command, args, env }) => {
    const client = new Client({ name: 'loop', version: '1.0.0' })
    await client.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: 'ignore' }))
    return client
  }))
}

// offered is what the servers offer: the tools, and call(name, args), which never
// throws: a tool that fails says so to the model.
async function offered(servers) {
  const tools = [], owner = new Map()
  for (const server of servers) {
    for (const tool of (await server.listTools()).tools) {
      tools.push(tool)
      owner.set(tool.name, server)
    }
  }
  const call = async (name, args) => {
    try {
      if (!owner.has(name)) throw new Error(`there is no tool ${name}`)
      const { content, isError = false } = await owner.get(name).callTool({ name, arguments: args })
      return { content, isError, text: content.map(c => c.text ?? `[${c.type}]`).join('\n') }
    } catch (error) {
      return { content: [{ type: 'text', text: error.message }], isError: true, text: error.message }
    }
  }
  return { tools, call }
}

// store replaces a session's file as a whole: a process that is killed leaves the
// last history that could be sent.
async function store(file, history) {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, JSON.stringify(history), { mode: 0o600 })
  await rename(`${file}.new`, file)
}
