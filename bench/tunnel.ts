import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PARTS, type PartName } from './tunnel/parts.ts'
import { hasProgram, withPrograms } from './tunnel/processes.ts'
import { report } from './tunnel/report.ts'
import { flags, openResults, RESULTS_FILE } from './tunnel/run.ts'

const USAGE = `Usage: npm run bench:tunnel -- [flags]

Compares tunnels and proxies to the same upstream under the same loads, and prints the tables of docs/benchmarks.md.
Other tunnels are measured when their programs are on the PATH.

  --part NAME      measure only this part (${Object.keys(PARTS).join(', ')}); may be repeated
  --quick          one round of one second, about ten minutes
  --rounds N       rounds of each load, 3 by default
  --seconds N      length of each measurement, 2 by default
  --write          replace the tables in docs/benchmarks.md
  --fresh          forget earlier results; without it a run that was stopped continues where it stopped
`

/** Programs that every run needs, and their packages. */
const TOOLS: Record<string, string> = {
  wrk: 'wrk',
  ab: 'apache2-utils',
  iperf3: 'iperf3',
  nginx: 'nginx-light',
  haproxy: 'haproxy',
  sshd: 'openssh-server',
  openssl: 'openssl',
}

const REPORT_FILE = join(import.meta.dirname, '..', 'docs', 'benchmarks.md')
/** What stands between these lines of the report is replaced; the rest is written by hand. */
const [BEGIN, END] = ['<!-- measured -->', '<!-- end of measured -->']

await main()

async function main(): Promise<void> {
  if (flags.help) {
    console.log(USAGE)
    return
  }
  const parts = flags.part ?? Object.keys(PARTS)
  const unknown = parts.filter((part) => !(part in PARTS))
  if (unknown.length > 0) return fail(`There is no part ${unknown.join(', ')}.\n\n${USAGE}`)
  const missing = Object.keys(TOOLS).filter((tool) => !hasProgram(tool))
  if (missing.length > 0) {
    const packages = missing.map((tool) => TOOLS[tool]).join(' ')
    return fail(`Missing programs: ${missing.join(', ')}. On Debian: apt-get install -y ${packages}`)
  }
  if (flags.fresh) rmSync(RESULTS_FILE, { force: true })
  console.error(`results in ${RESULTS_FILE}`)
  for (const part of parts as PartName[]) {
    try {
      await withPrograms((dir) => PARTS[part](dir, openResults()))
    } catch (error) {
      console.error(`${part} skipped: ${(error as Error).message}`)
    }
  }
  const text = report(openResults())
  console.log(text)
  if (flags.write) writeReport(text)
}

function writeReport(text: string): void {
  const page = readFileSync(REPORT_FILE, 'utf8')
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin === -1 || end === -1) fail(`${REPORT_FILE} lacks the lines ${BEGIN} and ${END}.`)
  else writeFileSync(REPORT_FILE, `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`)
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}
