// Simulators for the SDKs: each plays rounds.txtar, with what is added to it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'

const rounds = await readFile('rounds.txtar', 'utf8')
const running = []

// simulate starts one and returns its base URLs by provider. `without` leaves out
// providers that do not have what is added.
export async function simulate(name, added = '', without = []) {
  let text = rounds.replace('# added', added)
  for (const provider of without) text = text.replace(new RegExp(`^  ${provider}: .*\n`, 'm'), '')
  await writeFile(`${name}.txtar`, text)
  const child = spawn('./recorder', ['simulate', '--scenario', `${name}.txtar`, '--seed', name], { stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(child)
  const urls = {}
  for await (const line of createInterface({ input: child.stdout })) {
    const [, provider, url] = /^(?:export )?([A-Z]+)_BASE_URL=(.*)$/.exec(line) ?? []
    if (provider) urls[provider.toLowerCase()] = url.replaceAll("'", '')
    if (urls.gemini) break
  }
  if (!urls.gemini) throw new Error(`recorder simulate: ${(await once(child.stderr, 'data'))[0]}`)
  return urls
}

export function stopAll() { for (const child of running) child.kill() }
