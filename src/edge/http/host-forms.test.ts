import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { openRawClient, RawClient } from '../../../test/support/raw-client.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const OWN = 'own.adit.localhost'
const OTHER = 'other.adit.localhost'

/** The host that is reached, or the status without one. */
type Outcome = typeof OWN | typeof OTHER | 400 | 404

/** Request line and Host fields of HTTP/1, and what becomes of them. */
const FORMS: readonly (readonly [name: string, head: string, expected: Outcome])[] = [
  ['lower case', `GET / HTTP/1.1\r\nHost: ${OWN}`, OWN],
  ['upper case', `GET / HTTP/1.1\r\nHOST: ${OWN.toUpperCase()}`, OWN],
  ['trailing dot', `GET / HTTP/1.1\r\nHost: ${OWN}.`, OWN],
  ['port', `GET / HTTP/1.1\r\nHost: ${OWN}:8080`, OWN],
  ['trailing dot and port', `GET / HTTP/1.1\r\nHost: ${OWN}.:443`, OWN],
  ['empty port', `GET / HTTP/1.1\r\nHost: ${OWN}:`, OWN],
  ['surrounding white space', `GET / HTTP/1.1\r\nHost: \t ${OWN} \t`, OWN],
  ['no field', 'GET / HTTP/1.1\r\nX: y', 400],
  ['no field in HTTP/1.0', 'GET / HTTP/1.0\r\nX: y', 400],
  ['empty', 'GET / HTTP/1.1\r\nHost:', 400],
  ['white space alone', 'GET / HTTP/1.1\r\nHost: \t ', 400],
  ['a dot', 'GET / HTTP/1.1\r\nHost: .', 400],
  ['two trailing dots', `GET / HTTP/1.1\r\nHost: ${OWN}..`, 400],
  ['leading dot', `GET / HTTP/1.1\r\nHost: .${OWN}`, 400],
  ['port 0', `GET / HTTP/1.1\r\nHost: ${OWN}:0`, 400],
  ['port beyond 65535', `GET / HTTP/1.1\r\nHost: ${OWN}:65536`, 400],
  ['two ports', `GET / HTTP/1.1\r\nHost: ${OWN}:80:80`, 400],
  ['another host as port', `GET / HTTP/1.1\r\nHost: ${OWN}:${OTHER}`, 400],
  ['user information', `GET / HTTP/1.1\r\nHost: ${OTHER}@${OWN}`, 400],
  ['user information with a password', `GET / HTTP/1.1\r\nHost: a:b@${OWN}`, 400],
  ['empty user information', `GET / HTTP/1.1\r\nHost: @${OWN}`, 400],
  ['IPv4', 'GET / HTTP/1.1\r\nHost: 127.0.0.1', 404],
  ['IPv6', 'GET / HTTP/1.1\r\nHost: [::1]', 404],
  ['IPv6 with a port', 'GET / HTTP/1.1\r\nHost: [::1]:80', 404],
  ['IPv6 without brackets', 'GET / HTTP/1.1\r\nHost: ::1', 400],
  ['IPv6 with a zone', 'GET / HTTP/1.1\r\nHost: [fe80::1%25lo]', 400],
  ['IPv6 and a name', `GET / HTTP/1.1\r\nHost: [::1].${OWN}`, 400],
  ['a name in brackets', `GET / HTTP/1.1\r\nHost: [${OWN}]`, 400],
  ['a path', `GET / HTTP/1.1\r\nHost: ${OWN}/x`, 400],
  ['a scheme', `GET / HTTP/1.1\r\nHost: http://${OWN}`, 400],
  ['percent encoding', `GET / HTTP/1.1\r\nHost: own%2eadit.localhost`, 400],
  ['a list', `GET / HTTP/1.1\r\nHost: ${OWN}, ${OTHER}`, 400],
  ['a NUL', `GET / HTTP/1.1\r\nHost: ${OWN}\0.${OTHER}`, 400],
  ['a no-break space', `GET / HTTP/1.1\r\nHost: ${OWN}\xa0`, 400],
  ['two fields', `GET / HTTP/1.1\r\nHost: ${OWN}\r\nHost: ${OTHER}`, 400],
  ['two equal fields', `GET / HTTP/1.1\r\nHost: ${OWN}\r\nHost: ${OWN}`, 400],
  ['two fields in two spellings', `GET / HTTP/1.1\r\nhost: ${OWN}\r\nHOST: ${OTHER}`, 400],
  ['a second, empty field', `GET / HTTP/1.1\r\nHost: ${OWN}\r\nHost:`, 400],
  ['a folded field', `GET / HTTP/1.1\r\nHost: ${OWN}\r\n ${OTHER}`, 400],
  ['white space before the colon', `GET / HTTP/1.1\r\nHost : ${OWN}`, 400],
  ['white space before the name', `GET / HTTP/1.1\r\n Host: ${OWN}`, 400],
  ['a bare line feed', `GET / HTTP/1.1\r\nHost: ${OWN}\nHost: ${OTHER}`, 400],
  ['named as a connection option', `GET / HTTP/1.1\r\nHost: ${OWN}\r\nConnection: host`, OWN],
  ['another host in forwarding fields', `GET / HTTP/1.1\r\nX-Forwarded-Host: ${OTHER}\r\nHost: ${OWN}`, OWN],
  ['absolute form', `GET http://${OWN}/ HTTP/1.1\r\nHost: ${OWN}`, OWN],
  ['absolute form in another spelling', `GET HTTP://${OWN.toUpperCase()}.:80/ HTTP/1.1\r\nHost: ${OWN}`, OWN],
  ['absolute form of another host', `GET http://${OTHER}/ HTTP/1.1\r\nHost: ${OWN}`, 400],
  ['absolute form of this host beside another', `GET http://${OWN}/ HTTP/1.1\r\nHost: ${OTHER}`, 400],
  ['absolute form without a field', `GET http://${OWN}/ HTTP/1.1\r\nX: y`, 400],
  ['absolute form with user information', `GET http://${OTHER}@${OWN}/ HTTP/1.1\r\nHost: ${OWN}`, 400],
  ['absolute form with a backslash', `GET http://${OTHER}\\@${OWN}/ HTTP/1.1\r\nHost: ${OWN}`, 400],
  ['absolute form without a host', `GET http:///x HTTP/1.1\r\nHost: ${OWN}`, 400],
  ['absolute form of another scheme', `GET ftp://${OWN}/ HTTP/1.1\r\nHost: ${OWN}`, 400],
  ['authority form', `GET ${OTHER}:80 HTTP/1.1\r\nHost: ${OWN}`, 400],
  ['a target with two slashes', `GET //${OTHER}/ HTTP/1.1\r\nHost: ${OWN}`, OWN],
]

/** The fields of HTTP/2, and what becomes of them. */
const HTTP2_FORMS: readonly (readonly [name: string, headers: OutgoingHttpHeaders, expected: Outcome])[] = [
  ['authority', { ':authority': OWN }, OWN],
  ['upper case', { ':authority': OWN.toUpperCase() }, OWN],
  ['trailing dot and port', { ':authority': `${OWN}.:443` }, OWN],
  ['Host alone', { ':authority': undefined, host: OWN }, OWN],
  ['authority and Host that agree', { ':authority': OWN, host: OWN }, OWN],
  ['authority and Host that disagree', { ':authority': OWN, host: OTHER }, 400],
  ['user information', { ':authority': `${OTHER}@${OWN}` }, 400],
  ['empty', { ':authority': '' }, 400],
  ['IPv6', { ':authority': '[::1]' }, 404],
  ['a list', { ':authority': `${OWN},${OTHER}` }, 400],
]

/** An edge with two hosts of different tunnels, and the heads that each upstream gets. */
async function startHosts(t: TestContext, proto: 'http' | 'https') {
  const reached: { host: string; head: string }[] = []
  const tunnels = new TestTunnels()
  for (const host of [OWN, OTHER]) {
    const upstream = await startTcp(t, (socket) => {
      socket.on('data', (chunk: Buffer) => {
        reached.push({ host, head: chunk.toString('latin1') })
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    tunnels.add(host, createLocalTunnel(upstream, { proto }))
  }
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  /** Connects over TLS, whatever host the request will name. */
  const connectSecurely = (servername: string) => {
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      servername,
      ca,
      ALPNProtocols: ['http/1.1'],
    })
    t.after(() => socket.destroy())
    return new RawClient(socket)
  }
  return { reached, port, tlsPort, ca, connectSecurely }
}

function assertOutcome(
  reached: readonly { host: string; head: string }[],
  status: number | string | undefined,
  expected: Outcome,
  name: string,
): void {
  const visited = reached.map(({ host }) => host)
  if (typeof expected === 'number') {
    assert.deepEqual([status, visited], [expected, []], name)
    return
  }
  assert.deepEqual([status, visited], [200, [expected]], name)
  // The upstream sees the host that was routed by, once, and no trace of another.
  const { head } = reached[0]!
  const fields = head.slice(head.indexOf('\r\n')).toLowerCase()
  assert.equal(fields.split('\r\nhost:').length, 2, name)
  assert.ok(!fields.includes(expected === OWN ? OTHER : OWN), `${name}: ${head}`)
}

const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1])

test('every form of Host on a plain connection reaches its own host or none', async (t) => {
  const { reached, port } = await startHosts(t, 'http')

  for (const [name, head, expected] of FORMS) {
    reached.length = 0
    const client = openRawClient(t, port).write(`${head}\r\n\r\n`)
    await client.untilText('\r\n\r\n')

    assertOutcome(reached, statusOf(client.text), expected, name)
    client.socket.destroy()
  }
})

test('every form of Host over TLS reaches the host that it names or none, whatever the server name is', async (t) => {
  const { reached, connectSecurely } = await startHosts(t, 'https')

  for (const serverName of [OWN, OTHER, `${OWN}.`, OWN.toUpperCase()])
    for (const [name, head, expected] of FORMS) {
      reached.length = 0
      const client = connectSecurely(serverName).write(`${head.replace(/(GET )http:/i, '$1https:')}\r\n\r\n`)
      await client.untilText('\r\n\r\n')

      assertOutcome(reached, statusOf(client.text), expected, `${name}, server name ${serverName}`)
      client.socket.destroy()
    }
})

test('every form of authority in HTTP/2 reaches the host that it names or none', async (t) => {
  const { reached, tlsPort, ca } = await startHosts(t, 'https')

  for (const serverName of [OWN, OTHER])
    for (const [name, headers, expected] of HTTP2_FORMS) {
      reached.length = 0
      const session = connectHttp2(`https://${serverName}:${tlsPort}`, {
        ca,
        host: '127.0.0.1',
        servername: serverName,
      })
      t.after(() => session.destroy())
      const stream = session.request(headers)
      // A malformed request is a stream error (RFC 9113 section 8.1.1), some of them before our code sees it.
      const status = await once(stream, 'response').then(
        ([response]) => Number(response[':status']),
        (error: NodeJS.ErrnoException) => (error.code === 'ERR_HTTP2_STREAM_ERROR' ? 400 : error.code),
      )

      assertOutcome(reached, status, expected, `${name}, server name ${serverName}`)
      session.destroy()
    }
})
