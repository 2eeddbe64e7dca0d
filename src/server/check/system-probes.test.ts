import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { formatResults } from './check.ts'
import { runCheck } from './system-probes.ts'

async function startHttp(t: TestContext): Promise<{ server: Server; port: number }> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ newOrder: 'http://127.0.0.1/order' }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { server, port: (server.address() as AddressInfo).port }
}

test('the check reports the state of each link on a real machine', async (t) => {
  const { port } = await startHttp(t)

  const { results, passed } = await runCheck({
    domain: 'tunnels.example.test',
    publicIps: ['127.0.0.1'],
    httpAddr: { host: '127.0.0.1', port },
    httpsAddr: { host: '127.0.0.1', port },
    agentAddr: { host: '127.0.0.1', port: 1 },
    sshAddr: undefined,
    dnsAddr: undefined,
    publicHttpPort: undefined,
    publicHttpsPort: undefined,
    acmeDirectory: `http://127.0.0.1:${port}/`,
    acmeCa: undefined,
    dnsResolver: ['127.0.0.1:1'],
    outboundAllow: ['127.0.0.1'],
    dnsProvider: undefined,
    dnsCredentials: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    databaseUrl: undefined,
  })
  const text = formatResults(results)

  assert.equal(passed, false)
  assert.match(text, new RegExp(`FAILED {2}http port .*answers at 127.0.0.1:${port}, but`))
  assert.match(text, /FAILED {2}agent port .*nothing answers at 127\.0\.0\.1:1/)
  assert.match(text, /FAILED {2}certificate .*no TLS connection/)
  assert.match(text, /ok {6}ACME directory/)
  assert.match(text, /ok {6}clock/)
})
