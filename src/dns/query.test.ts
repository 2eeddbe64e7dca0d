import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { silentLog } from '../base/process/log.ts'
import { queryServer } from './query.ts'
import { createDns } from './server.ts'
import { compileZones } from './zone.ts'
import { buildZones } from './zones.ts'

for (const transport of ['udp', 'tcp'] as const)
  test(`a server is queried directly over ${transport}`, async (t) => {
    const table = compileZones(
      buildZones({
        base: 'adit.test',
        addresses: ['192.0.2.1'],
        regions: [],
        ingresses: [],
        challenges: [],
        caa: [],
        serial: 1,
      }),
    )
    const dns = createDns({ table: () => table, addr: { host: '127.0.0.1', port: 0 }, log: silentLog })
    await dns.start()
    t.after(() => dns.stop())

    const ownZone = await queryServer(dns.address, { name: 'adit.test', type: 'SOA' }, transport)
    const foreign = await queryServer(dns.address, { name: 'example.org', type: 'SOA' }, transport)

    assert.deepEqual(ownZone, { rcode: 'NOERROR', authoritative: true, answers: 1 })
    assert.deepEqual(foreign, { rcode: 'REFUSED', authoritative: false, answers: 0 })
  })

for (const [what, answer] of [
  ['nothing', ''],
  ['half a response', '\x00\x20half'],
] as const)
  test(`a server that sends ${what} and closes is an error`, { timeout: 60_000 }, async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.end(answer, 'latin1')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as { port: number }

    await assert.rejects(
      queryServer({ host: '127.0.0.1', port }, { name: 'adit.test', type: 'SOA' }, 'tcp', 30_000),
      /closed|reset/i,
    )
  })

test('an unreachable server is an error', async () => {
  const closedPort = { host: '127.0.0.1', port: 1 }

  await assert.rejects(queryServer(closedPort, { name: 'adit.test', type: 'SOA' }, 'tcp', 500))
  await assert.rejects(queryServer(closedPort, { name: 'adit.test', type: 'SOA' }, 'udp', 500))
})
