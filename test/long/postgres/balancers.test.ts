import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startHaproxy, startNginx } from '../../proxies/programs.ts'
import { eventuallyEqual } from '../../support/eventually.ts'
import { findFreePorts } from '../../support/free-ports.ts'
import { startPostgres } from '../../support/postgres.ts'
import { missingPrograms } from '../../support/required-programs.ts'
import { httpPortOf, startNodes } from '../../support/rolling-restart.ts'
import { allWell } from './nodes.ts'
import { assertServed } from './served.ts'
import { startTraffic } from './traffic.ts'

/** Long enough for many checks of the balancer. */
const VISITS_WITHOUT_DATABASE = 800

/** Balancers, started in front of nodes whose HTTP ports these are, on a port. */
const balancers = {
  // Without `timeout check` a check may take no longer than the time between two: a busy machine would look like nodes that are down.
  haproxy: (t: TestContext, nodes: readonly number[], port: number) =>
    startHaproxy(
      t,
      `defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
  timeout check 10s
listen http
  bind *:${port}
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host nodes
${nodes.map((node) => `  server node${node} 127.0.0.1:${node} check inter 100ms fall 2 rise 1`).join('\n')}
`,
      port,
    ),
  nginx: (t: TestContext, nodes: readonly number[], port: number) =>
    startNginx(t, {
      port,
      http: `upstream nodes { ${nodes.map((node) => `server 127.0.0.1:${node} max_fails=1 fail_timeout=10s;`).join(' ')} }
server {
  listen *:${port};
  location / {
    proxy_pass http://nodes;
    proxy_set_header Host $http_host;
    proxy_next_upstream error timeout http_502 http_503;
  }
}`,
    }),
} as const

for (const [program, startBalancer] of Object.entries(balancers))
  test(`no visitor behind ${program} notices that the database is away, nor that it is back`, {
    skip: missingPrograms(program as keyof typeof balancers),
  }, async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const { nodes } = await startNodes(t, 2, () => postgres.url, ['--public-readyz', 'true'])
    const port = await findFreePorts(1)
    await startBalancer(t, nodes.map(httpPortOf), port)
    const traffic = await startTraffic(t, nodes, [port])
    await traffic.written(100)

    await postgres.kill()
    await traffic.writersRejected()
    for (const { url } of nodes) {
      const probe = async (path: string) => {
        const response = await fetch(url + path)
        return `${response.status} ${await response.text()}`
      }
      await eventuallyEqual(() => probe('/readyz'), '200 {"status":"ready","database":"unavailable"}')
      assert.match(await probe('/readyz?strict'), /^503 .*"reason":"The PostgreSQL database cannot be used/)
      assert.match(await probe('/healthz'), /^200 /)
    }
    await traffic.visited(VISITS_WITHOUT_DATABASE)
    await postgres.start()

    await allWell(nodes)
    traffic.writeAgain()
    await traffic.written(100)
    await traffic.stop()
    await traffic.history.verify(traffic.calls[0]!)
    await assertServed(nodes, postgres.url, traffic.history)
  })
