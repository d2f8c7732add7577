// Prints a line for each agent, provider and way in of the JSON reports it is given.
import { readFileSync } from 'node:fs'

const rows = [['agent', 'version', 'provider', 'ingress', 'cases', 'passed', 'findings', 'seconds']]
for (const file of process.argv.slice(2)) {
  const { subject, cases = [], results = [] } = JSON.parse(readFileSync(file, 'utf8'))
  const groups = Map.groupBy(cases.filter(c => c.verdict !== 'not-applicable'), c => `${c.provider} ${c.ingress ?? 'mitm'}`)
  for (const [key, played] of groups) {
    const names = new Set(played.map(c => c.name))
    const findings = results.filter(r => names.has(r.case)).flatMap(r => r.findings ?? []).length
    const ms = played.reduce((sum, c) => sum + (c.duration_ms ?? 0), 0)
    rows.push([subject.name, subject.version ?? '', ...key.split(' '), played.length,
      played.filter(c => c.verdict === 'pass').length, findings, Math.round(ms / 1000)].map(String))
  }
}
const widths = rows[0].map((_, i) => Math.max(...rows.map(r => r[i].length)))
for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd())
