import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { findFreePorts } from '../../test/support/free-ports.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/process/log.ts'
import { createDns } from './server.ts'
import { compileZones } from './zone.ts'
import { buildZones } from './zones.ts'

const run = promisify(execFile)
const missing =
  existsSync('/usr/sbin/nsd') && existsSync('/usr/bin/dig') ? false : 'nsd or dig is not installed'

const PARENT = `$ORIGIN example.
$TTL 60
@ IN SOA ns.example. hostmaster.example. 1 7200 900 1209600 60
@ IN NS ns.example.
ns IN A 127.0.0.1
adit IN NS ns1.adit.example.
adit IN NS ns2.adit.example.
ns1.adit IN A 127.0.0.1
ns2.adit IN A 127.0.0.1
agents IN NS ns1.adit.example.
agents IN NS ns2.adit.example.
`

/** NSD as the parent zone's servers: they know the delegation and nothing else. */
async function startParent(t: TestContext): Promise<number> {
  const dir = createTempDir()
  const port = await findFreePorts(1)
  await writeFile(join(dir, 'example.zone'), PARENT)
  await writeFile(
    join(dir, 'nsd.conf'),
    `server:
  ip-address: 127.0.0.1@${port}
  username: ""
  chroot: ""
  server-count: 1
  zonesdir: "${dir}"
  database: ""
  pidfile: "${dir}/nsd.pid"
  xfrdfile: "${dir}/xfrd.state"
  zonelistfile: "${dir}/zone.list"
  xfrdir: "${dir}"
remote-control:
  control-enable: no
zone:
  name: example
  zonefile: example.zone
`,
  )
  const nsd = spawn('/usr/sbin/nsd', ['-d', '-c', join(dir, 'nsd.conf')], { stdio: 'ignore' })
  t.after(async () => {
    const exit = once(nsd, 'exit')
    nsd.kill('SIGTERM')
    await exit
  })
  for (let attempt = 0; ; attempt += 1) {
    const { stdout } = await dig(port, '+tries=1', '+time=1', 'example', 'SOA').catch(() => ({ stdout: '' }))
    if (stdout.includes('hostmaster.example.')) return port
    assert.ok(attempt < 50, 'NSD did not start')
  }
}

function dig(port: number, ...args: string[]) {
  return run('dig', ['@127.0.0.1', '-p', String(port), '+norecurse', ...args])
}

test('the parent’s servers delegate to ours, over UDP and TCP', { skip: missing }, async (t) => {
  const parent = await startParent(t)
  const table = compileZones(
    buildZones({
      base: 'adit.example',
      addresses: ['192.0.2.1', '2001:db8::1'],
      regions: [{ region: 'us', addresses: ['192.0.2.1'] }],
      ingresses: [{ domain: 'agents.example', account: 'ac_1', managed: true }],
      challenges: [{ name: '_acme-challenge.tunnel.us.agents.example', value: 'proof' }],
      caa: ['ca.example'],
      serial: 1,
    }),
  )
  const dns = createDns({ table: () => table, addr: { host: '127.0.0.1', port: 0 }, log: silentLog })
  await dns.start()
  t.after(() => dns.stop())

  for (const transport of ['+notcp', '+tcp']) {
    const referral = await dig(parent, transport, 'www.adit.example', 'A')
    const apex = await dig(dns.address.port, transport, '+short', 'adit.example', 'NS')
    const glue = /ns1\.adit\.example\.\s+\d+\s+IN\s+A\s+127\.0\.0\.1/
    assert.match(referral.stdout, /AUTHORITY: 2/)
    assert.match(referral.stdout, glue, 'the parent has glue records for our servers')
    assert.match(apex.stdout, /ns1\.adit\.example\./, 'our servers name themselves as the parent does')

    const lookup = async (name: string, type: string) =>
      (await dig(dns.address.port, transport, '+short', name, type)).stdout.trim()
    assert.equal(await lookup('www.adit.example', 'A'), '192.0.2.1')
    assert.equal(await lookup('www.adit.example', 'AAAA'), '2001:db8::1')
    assert.equal(await lookup('x.y.cname.adit.example', 'A'), '192.0.2.1')
    assert.equal(await lookup('tunnel.us.agents.example', 'A'), '192.0.2.1')
    assert.equal(await lookup('_acme-challenge.tunnel.us.agents.example', 'TXT'), '"proof"')
    assert.equal(await lookup('agents.example', 'CAA'), '0 issue "ca.example"')
    assert.match(
      await lookup('agents.example', 'SOA'),
      /^ns1\.adit\.example\. hostmaster\.adit\.example\. 1 /,
    )
    const absent = await dig(dns.address.port, transport, 'nothing.agents.example', 'A')
    const empty = await dig(dns.address.port, transport, 'www.adit.example', 'TXT')
    assert.match(absent.stdout, /status: NXDOMAIN.*flags: qr aa/s)
    assert.match(empty.stdout, /status: NOERROR.*ANSWER: 0, AUTHORITY: 1/s)
  }
})
