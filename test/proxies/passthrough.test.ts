import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startPlatform } from '../support/platform.ts'
import { createTestCa } from '../support/test-ca.ts'
import { PUBLIC_ADDRESS, readExample, startHaproxy, startNginx } from './programs.ts'
import {
  createVisitor,
  FORGED,
  OTHER_VISITOR,
  startHttpService,
  startRawService,
  VISITOR,
} from './visitors.ts'

/** The proxies that forward TCP, each with the example that configures it. */
const PROXIES: Record<
  string,
  (t: TestContext, ports: Record<string, string>, port: number) => Promise<void>
> = {
  'nginx (PROXY protocol 1)': (t, ports, port) =>
    startNginx(t, { main: readExample('nginx-stream', ports), port }),
  'HAProxy (PROXY protocol 1)': (t, ports, port) =>
    startHaproxy(t, readExample('haproxy-tcp', { ...ports, 'send-proxy-v2': 'send-proxy' }), port),
  'HAProxy (PROXY protocol 2)': (t, ports, port) => startHaproxy(t, readExample('haproxy-tcp', ports), port),
}

for (const [name, startProxy] of Object.entries(PROXIES))
  test(`behind ${name}, visitors have their own address on every listener`, async (t) => {
    const first = await findFreePorts(7)
    const [httpPort, httpsPort, agentPort] = [first, first + 1, first + 2]
    const tcpRange = `${first + 3}-${first + 6}`
    const agentAddress = `${PUBLIC_ADDRESS}:${agentPort}`
    const platform = await startPlatform(t, [
      ...['--trusted-proxies', '127.0.0.1', '--proxy-protocol', 'http,https,tcp,agent'],
      ...['--public-http-port', `${httpPort}`, '--public-https-port', `${httpsPort}`],
      ...['--tcp-ports', tcpRange, '--agent-addr', '127.0.0.1:0', '--agent-public-addr', agentAddress],
      ...['--http-addr', `127.0.0.1:${httpPort}`, '--https-addr', `127.0.0.1:${httpsPort}`],
    ])
    await startProxy(
      t,
      {
        '203.0.113.5:80': `${PUBLIC_ADDRESS}:${httpPort}`,
        '203.0.113.5:443': `${PUBLIC_ADDRESS}:${httpsPort}`,
        '203.0.113.5:4443': agentAddress,
        '127.0.0.1:8080': `127.0.0.1:${httpPort}`,
        '127.0.0.1:8443': `127.0.0.1:${httpsPort}`,
        '127.0.0.1:4443': platform.credentials.agent_addr,
        '20000-20999': tcpRange,
      },
      httpPort,
    )
    const agent = await startAgent(t, { credentials: { ...platform.credentials, agent_addr: agentAddress } })
    const web = await agent.forward({
      addr: await startHttpService(t),
      schemes: ['http', 'https'],
      ip_restriction: { allow_cidrs: [`${VISITOR}/32`] },
    })
    const ca = await createTestCa()
    const [tcp, tls] = [
      await agent.forward({ addr: await startRawService(t), proto: 'tcp', proxy_proto: '1' }),
      await agent.forward({
        addr: await startRawService(t, await ca.issue('raw.adit.localhost')),
        proto: 'tls',
        url: 'tls://raw.adit.localhost',
        proxy_proto: '1',
      }),
    ]
    const host = new URL(web.url).hostname
    const tcpPort = Number(tcp.url.slice(tcp.url.lastIndexOf(':') + 1))
    const visitor = createVisitor(VISITOR, platform.caPem)
    const other = createVisitor(OTHER_VISITOR, platform.caPem)

    assert.ok(tls.url.startsWith('tls://raw.'))
    const request = { host: `${host}:${httpPort}`, headers: FORGED }
    assert.equal((await visitor.http(httpPort, request)).text, `${VISITOR} http`)
    assert.equal((await visitor.https(httpsPort, { ...request, servername: host })).text, `${VISITOR} https`)
    assert.equal(await visitor.http2(httpsPort, host), `${VISITOR} https`)
    assert.equal(await visitor.webSocket(httpsPort, host), `${VISITOR} https`)
    assert.equal((await other.http(httpPort, request)).status, 403, 'an IP restriction judges the visitor')
    for (const [one, address] of [
      [visitor, VISITOR],
      [other, OTHER_VISITOR],
    ] as const) {
      assert.equal(await one.tcp(tcpPort), address)
      assert.equal(await one.passthrough(httpsPort, 'raw.adit.localhost', ca.caPem), address)
    }

    // Nobody reaches the listeners around the proxy, not even with a header.
    for (const port of [httpPort, httpsPort, tcpPort]) {
      const direct = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.9' })
      direct.on('error', () => {})
      direct.write('PROXY TCP4 127.0.0.5 127.0.0.1 1 1\r\n')
      direct.resume()
      await eventually(() => direct.closed, 'the end of a direct connection')
    }
  })
