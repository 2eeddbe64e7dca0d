import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasProgram } from './processes.ts'

/** The programs of a run, and how each prints its version. */
const PROGRAMS: readonly (readonly [name: string, program: string, flag: string])[] = [
  ['frp', 'frps', '--version'],
  ['chisel', 'chisel', '--version'],
  ['sish', 'sish', '--version'],
  ['piko', 'piko', '--version'],
  ['OpenSSH', 'ssh', '-V'],
  ['rathole', 'rathole', '--version'],
  ['bore', 'bore', '--version'],
  ['nginx', 'nginx', '-v'],
  ['haproxy', 'haproxy', '-v'],
  ['wrk', 'wrk', '-v'],
  ['iperf3', 'iperf3', '--version'],
]

/** The versions of everything that takes part, as one line. */
export function describeVersions(): string {
  const own = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as {
    version: string
    devDependencies: Record<string, string>
  }
  const others = PROGRAMS.filter(([, program]) => hasProgram(program)).map(([name, program, flag]) => {
    const { stdout, stderr } = spawnSync(program, [flag], { encoding: 'utf8' })
    return `${name} ${findVersion(stdout + stderr) ?? 'of unknown version'}`
  })
  const sdk = own.devDependencies['@ngrok/ngrok']
  return [`Adit ${own.version}`, `Node ${process.versions.node}`, `@ngrok/ngrok ${sdk}`, ...others].join(', ')
}

/** The first number of the form 1.2; the one after "Version:" if there is one, as rathole prints a date before it. */
function findVersion(text: string): string | undefined {
  const start = Math.max(0, text.search(/version: /i))
  return /\d+(\.\d+)+[\w-]*/.exec(text.slice(start))?.[0]
}
