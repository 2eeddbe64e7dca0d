import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from '../eventually.ts'
import { findFreePorts } from '../free-ports.ts'
import { createTempDir } from '../temp-dir.ts'
import type { ProviderStandIn, StandInOptions } from './stand-in.ts'

/** A real BIND that takes updates signed with one key. */
export interface Bind extends ProviderStandIn {
  readonly port: number
}

/** Starts BIND with these zones. A second key is known to it, but may change nothing. */
export async function startBind(t: TestContext, { zones, records = [] }: StandInOptions): Promise<Bind> {
  const dir = createTempDir()
  const port = await findFreePorts(1)
  const secret = randomBytes(32).toString('base64')
  for (const zone of zones) {
    const own = records.filter(({ name }) => closest(zones, name) === zone)
    const lines = [
      '$TTL 60',
      `@ IN SOA ns.${zone}. hostmaster.${zone}. 1 7200 900 1209600 1`,
      `@ IN NS ns.${zone}.`,
      'ns IN A 127.0.0.1',
      '* IN A 127.0.0.1',
      ...own.map(({ name, value }) => `${name}. IN TXT "${value}"`),
    ]
    writeFileSync(join(dir, `${zone}.zone`), `${lines.join('\n')}\n`)
  }
  const key = (name: string) => `key "${name}" { algorithm hmac-sha256; secret "${secret}"; };`
  const config = [
    `options { directory "${dir}"; pid-file none; session-keyfile none; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; dnssec-validation no; notify no; };`,
    'controls { };',
    key('adit-key'),
    key('reader-key'),
    ...zones.map(
      (zone) =>
        `zone "${zone}" { type primary; file "${dir}/${zone}.zone"; allow-update { key "adit-key"; }; };`,
    ),
  ]
  const file = join(dir, 'named.conf')
  writeFileSync(file, config.join('\n'))
  chmodSync(dir, 0o755)
  const path = `${process.env.PATH}:/usr/sbin`
  const child = spawn('named', ['-g', '-c', file, '-n', '1'], { env: { ...process.env, PATH: path } })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  child.on('error', (error) => {
    output += error.message
  })
  t.after(async () => {
    if (child.exitCode !== null || child.pid === undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const resolver = new Resolver({ timeout: 1000, tries: 3 })
  resolver.setServers([`127.0.0.1:${port}`])
  await eventually(
    () =>
      resolver.resolveSoa(zones[0]!).then(
        () => true,
        () => false,
      ),
    () => `BIND answers; it said: ${output}`,
  )
  const variables = {
    RFC2136_NAMESERVER: `127.0.0.1:${port}`,
    RFC2136_TSIG_KEY: 'adit-key',
    RFC2136_TSIG_SECRET: secret,
  }
  return {
    port,
    variables,
    invalidVariables: { ...variables, RFC2136_TSIG_SECRET: randomBytes(32).toString('base64') },
    invalidMessage: /the secret or the algorithm of the key is not the one that the server has \(BADSIG\)/,
    violations: [],
    values: async (name) =>
      (await resolver.resolveTxt(name).catch(() => [])).map((chunks) => chunks.join('')),
  }
}

function closest(zones: readonly string[], name: string): string {
  const matches = zones.filter((zone) => name.endsWith(`.${zone}`))
  return matches.sort((one, other) => other.length - one.length)[0]!
}
