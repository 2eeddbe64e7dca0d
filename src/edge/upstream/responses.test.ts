import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { pino } from 'pino'
import { startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

const malformed: string[] = [
  'nonsense\r\n\r\n',
  'HTTP/2 200 OK\r\n\r\n',
  'HTTP/1.2 200 OK\r\n\r\n',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1 2000 OK\r\n\r\n',
  'HTTP/1.1 999 OK\r\n\r\n',
  'HTTP/1.1 000 OK\r\n\r\n',
  'HTTP/1.1  200 OK\r\n\r\n',
  'HTTP/1.1 200 O\x00K\r\n\r\n',
  'HTTP/1.1 200 OK\nX: y\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX: y\r\n folded\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX : y\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n',
  'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello',
  'HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`,
  `HTTP/1.1 200 OK\r\n${'X: a\r\n'.repeat(300)}\r\n`,
  'HTTP/1.1 200 OK\r\n\r\n\x00'.replace('\r\n\r\n', '\r\n\n\r\n\r\n'),
]

test('a response that is not valid HTTP becomes a 502, and its connection is not reused', async (t) => {
  assert.ok(malformed.length >= 30)
  let response = ''
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => socket.write(Buffer.from(response, 'latin1')))
  })
  const tunnel = createLocalTunnel(upstream)
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))

  for (const [n, text] of malformed.entries()) {
    response = text
    const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await client.untilText('ERR_ADIT_8013\n')

    assert.match(client.text, /^HTTP\/1\.1 502 Bad Gateway\r\n/, JSON.stringify(text.slice(0, 80)))
    assert.equal(tunnel.clients.length, n + 1, 'a new connection for each')
    client.socket.destroy()
  }
})

test('bytes after a response are not taken for the next one', async (t) => {
  const endings = [
    'Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
    'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
  ]
  for (const ending of endings) {
    const upstream = await startTcp(t, (socket) => {
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${ending}`))
    })
    const tunnel = createLocalTunnel(upstream)
    const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))
    const request = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

    const client = await openRawClient(t, port).write(request).untilText('ok')
    client.write(request)
    await client.until(({ text }) => text.split('HTTP/1.1 200').length === 3)

    assert.ok(!client.text.includes('poison'))
    assert.equal(tunnel.clients.length, 2)
  }
})

test('an idle upstream connection that sends bytes is closed', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison'), 20)
      socket.once('close', () => closed())
    })
  })
  let closed = () => {}
  const connectionClosed = new Promise<void>((resolve) => {
    closed = resolve
  })
  const tunnel = createLocalTunnel(upstream)
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))
  const request = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

  const client = await openRawClient(t, port).write(request).untilText('ok')
  await connectionClosed
  client.write(request)
  await client.until(({ text }) => text.split('ok').length === 3)

  assert.ok(!client.text.includes('poison'))
})

test('a truncated response resets the client, whatever its framing', async (t) => {
  const responses = [
    'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nbad\r\n',
  ]
  for (const response of responses) {
    for (const version of ['1.1', '1.0']) {
      const upstream = await startTcp(t, (socket) => {
        socket.once('data', () => socket.end(response))
      })
      const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

      const client = openRawClient(t, port).write(`GET / HTTP/${version}\r\nHost: ${HOST}\r\n\r\n`)
      await client.until(({ closed }) => closed)

      assert.equal(client.error?.code, 'ECONNRESET', `${version} ${JSON.stringify(response)}`)
    }
  }
})

test('a response without a length ends with its connection', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200\r\n\r\nall ')
      setTimeout(() => socket.end('of it'), 10)
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const modern = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const old = openRawClient(t, port).write(`GET / HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  await modern.untilText('0\r\n\r\n')
  await old.untilClosed()

  assert.ok(modern.text.endsWith('\r\n\r\n4\r\nall \r\n5\r\nof it\r\n0\r\n\r\n'))
  assert.ok(old.text.endsWith('\r\n\r\nall of it'))
})

test('an agent’s dial report becomes an upstream error', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => {
      const body = 'failed to dial backend: connection refused'
      socket.end(`HTTP/1.1 502 Bad Gateway\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 0\r\n\r\n`)

  await client.untilText('ERR_ADIT_8012\n')
})

test('the page says why the agent could not connect, and what its owner types', async (t) => {
  const pages: string[] = []
  for (const failure of ['not_tls', 'refused', 'constructor']) {
    const upstream = await startTcp(t, (socket) => {
      socket.once('data', () => {
        const report = dialReport('10.1.2.3:8080')
        socket.end(report.replace('\r\n', `\r\nAdit-Dial-Failure: ${failure}\r\n`))
      })
    })
    const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

    const client = openRawClient(t, port).write(
      `GET / HTTP/1.1\r\nHost: ${HOST}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`,
    )
    await client.untilClosed()

    pages.push(client.text)
  }

  assert.match(pages[0]!, /it does not speak TLS\..*<code>adit http http:\/\/localhost:3000<\/code>/)
  assert.match(pages[1]!, /connection refused\..*Start the local service, or correct its port/)
  // A name that is not in the list, as of an agent of another make.
  assert.match(pages[2]!, /no connection\..*Start the service, or correct its address/)
})

/** Upstreams that fail in different ways; their output names an address, as an agent's does. */
const failures: Record<string, (socket: Socket) => void> = {
  'it closes without a response': (socket) => void socket.destroy(),
  'it sends garbage': (socket) => void socket.write('nonsense\r\n\r\n'),
  'the agent could not dial it': (socket) => void socket.end(dialReport('10.1.2.3:8080')),
  'the agent could not dial it, reported in several writes': (socket) => {
    const report = dialReport('10.1.2.3:8080')
    const middle = report.indexOf('\r\n\r\n') + 4
    socket.write(report.slice(0, middle), () =>
      setImmediate(() => {
        socket.write(report.slice(middle, middle + 3), () =>
          setImmediate(() => socket.end(report.slice(middle + 3))),
        )
      }),
    )
  },
}

function dialReport(address: string): string {
  const body = `failed to dial backend: connect ECONNREFUSED ${address}\n`
  return `HTTP/1.1 502 Bad Gateway\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

for (const [what, fail] of Object.entries(failures)) {
  test(`the private address of an upstream goes to the log, not to the client: ${what}`, async (t) => {
    const upstream = await startTcp(t, (socket) => {
      socket.setNoDelay(true)
      socket.once('data', () => fail(socket))
    })
    const lines: string[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
    const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream))
    const { port } = await startEdge(t, tunnels, {}, { log })

    for (const accept of ['text/html', 'application/json', '*/*']) {
      const client = openRawClient(t, port).write(
        `POST / HTTP/1.1\r\nHost: ${HOST}\r\nAccept: ${accept}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      )
      await client.untilClosed()

      assert.match(client.text, /^HTTP\/1\.1 502 [\s\S]*ERR_ADIT_801[236]/)
      assert.ok(!/10\.1\.2\.3|127\.0\.0\.1/.test(client.text), client.text)
    }
    assert.ok(lines.some((line) => line.includes(`http://127.0.0.1:${upstream}`)))
  })
}

test('a 502 of the upstream itself is forwarded, also when its body arrives later', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.setNoDelay(true)
    socket.once('data', () =>
      socket.write('HTTP/1.1 502 Own\r\nContent-Length: 30\r\n\r\n', () =>
        setImmediate(() => socket.write('x'.repeat(30))),
      ),
    )
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await client.untilText('x'.repeat(30))

  assert.equal(client.text, `HTTP/1.1 502 Own\r\nContent-Length: 30\r\n\r\n${'x'.repeat(30)}`)
})

test('a non-idempotent request is not resent', async (t) => {
  let arrived = 0
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => {
      arrived++
      socket.destroy()
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 2\r\n\r\nhi`,
  )
  await client.untilText('ERR_ADIT_8016\n')

  assert.equal(arrived, 1)
})
