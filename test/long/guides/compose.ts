// Starts one service of a Compose file as a container engine would, without the engine: the entry point of the image, the command
// and the environment of the file with its variables filled in, and no other. The names of the other services are arguments:
//   node compose.ts FILE SERVICE [NAME=ADDRESS]...
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'

const [file = '', service = '', ...hosts] = process.argv.slice(2)
const variables = parseEnv(readFileSync('.env', 'utf8'))
const { command, environment } = parse(fillIn(readFileSync(file, 'utf8'))).services[service] as {
  command: string[]
  environment: Record<string, string>
}
const names = hosts.map((host) => host.split('=').toReversed().join(' '))
writeFileSync('hosts', ['127.0.0.1 localhost', ...names, ''].join('\n'))
const program = 'mount --bind hosts /etc/hosts && exec "$@"'
const { status } = spawnSync(
  'unshare',
  ['--mount', 'sh', '-c', program, 'sh', process.env.PROGRAM!, ...command],
  {
    stdio: 'inherit',
    env: {
      PATH: process.env.PATH,
      HOME: '/dev/null',
      NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      ...environment,
    },
  },
)
process.exitCode = status ?? 1

/** Compose's own syntax, as far as guides use it. */
function fillIn(text: string): string {
  return text.replaceAll(/\$\{(\w+):\?([^}]+)\}/g, (_, name: string, message: string) => {
    const value = variables[name]
    if (value === undefined) throw new Error(`${name}: ${message}`)
    return value
  })
}
