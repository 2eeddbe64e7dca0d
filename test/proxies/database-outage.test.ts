import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { sendHttp } from '../support/https-client.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { startPostgres } from '../support/postgres.ts'
import { PUBLIC_ADDRESS, startHaproxy, startNginx } from './programs.ts'

const HOST = 'app.adit.localhost'
/** Checks of the balancer, one each 100 ms: more than it takes to call a node down. */
const REQUESTS = 200

/** Two nodes on a PostgreSQL server of their own, which serve one endpoint. */
async function startNodes(t: TestContext) {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  const probePort = await findFreePorts(2)
  const flags = ['--database-url', postgres.url, '--public-readyz', 'true']
  const first = await startPlatform(t, [...flags, '--probe-addr', `127.0.0.1:${probePort}`])
  const second = await startPlatform(t, [
    ...[...flags, '--probe-addr', `127.0.0.1:${probePort + 1}`],
    ...['--master-key-file', join(first.dataDir, 'master.key')],
  ])
  const agent = await startAgent(t, first)
  const addr = await startHttp(t, (_request, response) => response.end('served'))
  await agent.forward({ addr, url: `http://${HOST}` })
  const nodes = [first, second].map(({ credentials }, index) => ({
    address: `127.0.0.1:${new URL(credentials.http_url).port}`,
    api: credentials.api_url,
    probePort: probePort + index,
  }))
  return { postgres, nodes }
}

/** Stops the database, and requires that no visitor notices it at the balancer. */
async function assertServed({ postgres, nodes }: Awaited<ReturnType<typeof startNodes>>, port: number) {
  const visit = async () => (await sendHttp(port, { host: HOST, to: PUBLIC_ADDRESS })).text
  await eventually(async () => (await visit()) === 'served', 'the balancer serves')

  await postgres.stop()
  for (const { api } of nodes)
    await eventually(
      async () => (await (await fetch(`${api}/readyz`)).text()).includes('"unavailable"'),
      'the nodes know of the outage',
    )

  const answers = []
  for (let count = 0; count < REQUESTS; count++) answers.push(await visit())
  assert.deepEqual(new Set(answers), new Set(['served']))
}

for (const [where, check] of [
  ['the port of probes', ({ probePort }: { probePort: number }) => `check port ${probePort}`],
  ['the public port', () => 'check'],
] as const)
  test(`visitors behind HAProxy that checks readiness at ${where} do not notice an outage of the database`, async (t) => {
    const harness = await startNodes(t)
    const port = await findFreePorts(1)
    const servers = harness.nodes.map(
      (node, index) => `  server node${index} ${node.address} ${check(node)} inter 100ms fall 2 rise 1`,
    )
    await startHaproxy(
      t,
      `defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
listen http
  bind ${PUBLIC_ADDRESS}:${port}
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host nodes
${servers.join('\n')}
`,
      port,
    )

    await assertServed(harness, port)
  })

test('visitors behind nginx, which goes by the answers of nodes, do not notice an outage of the database', async (t) => {
  const harness = await startNodes(t)
  const port = await findFreePorts(1)
  const servers = harness.nodes.map(({ address }) => `server ${address} max_fails=1 fail_timeout=10s;`)
  const http = `upstream nodes { ${servers.join(' ')} }
server {
  listen ${PUBLIC_ADDRESS}:${port};
  location / {
    proxy_pass http://nodes;
    proxy_set_header Host $http_host;
    proxy_next_upstream error timeout http_502 http_503;
  }
}`
  await startNginx(t, { http, port })

  await assertServed(harness, port)
})
