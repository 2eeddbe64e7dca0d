import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../support/api.ts'
import { eventually, TIMEOUT_MS } from '../support/eventually.ts'
import { startHarness } from '../support/harness.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { startLoad } from '../support/steady-load.ts'

const MINUTES = Number(process.env.BULK_MINUTES ?? 5)
const HOST = 'bulk.adit.localhost'
const TRANSFERS = 8
/** Slow enough for the transfers to fill it all the time. */
const LINK_BYTES_PER_SECOND = 8 * 1024 * 1024
const BLOCK = Buffer.alloc(64 * 1024)

/** Starts a relay of limited bandwidth in each direction; its queues are the buffers of the sockets. */
function startSlowLink(t: TestContext, target: number): Promise<number> {
  const relay = async (from: Socket, to: Socket) => {
    for await (const chunk of from) {
      if (!to.write(chunk)) await once(to, 'drain')
      await delay((chunk.length / LINK_BYTES_PER_SECOND) * 1000)
    }
    to.end()
  }
  return startTcp(t, (client) => {
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    const destroy = () => [client, server].map((socket) => socket.destroy())
    relay(client, server).catch(destroy)
    relay(server, client).catch(destroy)
  })
}

test(`${MINUTES} minutes of transfers that fill the link of an agent end no session and no request (P15)`, async (t) => {
  const harness = await startHarness(t)
  const moved = { up: 0, down: 0 }
  const service = await startHttp(t, (request, response) => {
    if (request.url === '/') return response.end('served')
    request.on('data', (chunk: Buffer) => {
      moved.up += chunk.length
    })
    const send = (): void => void response.write(BLOCK, (error) => error ?? send())
    if (request.method === 'GET') send()
  })
  const link = await startSlowLink(t, harness.agentPort)
  const { credentials } = harness
  const agent = harness.startAgent(['http', String(service), `--url=http://${HOST}`, '--inspect=false'], {
    ADIT_CONNECT_URL: `127.0.0.1:${link}`,
    ADIT_CONNECT_CAS: credentials.ca_file,
    ADIT_AUTHTOKEN: credentials.authtoken,
    // Heartbeats and transfers share one connection.
    ADIT_LEGS: '1',
  })
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const call = createClient(credentials.api_url, credentials.api_key)
  const listSessions = async () =>
    (await call('GET', '/tunnel_sessions')).body.tunnel_sessions.map(({ id }: { id: string }) => id)
  const sessions = await listSessions()

  const open = (method: string) => {
    const socket = connect({ port: harness.httpPort, host: '127.0.0.1' }).on('error', () => {})
    t.after(() => socket.destroy())
    socket.write(
      `${method} /bulk HTTP/1.1\r\nHost: ${HOST}:${harness.httpPort}\r\nContent-Length: ${method === 'GET' ? 0 : 2 ** 45}\r\n\r\n`,
    )
    return socket
  }
  const sockets = [open('GET').pause()]
  for (let transfer = 0; transfer < TRANSFERS; transfer++) {
    sockets.push(
      open('GET').on('data', (chunk: Buffer) => {
        moved.down += chunk.length
      }),
    )
    const upload = open('PUT').resume()
    const send = (): void => void upload.write(BLOCK, (error) => error ?? send())
    send()
    sockets.push(upload)
  }
  await eventually(() => moved.up > 0 && moved.down > 0)
  const load = startLoad(t, {
    host: HOST,
    perSecond: 2,
    ports: () => [harness.httpPort],
    timeoutMs: TIMEOUT_MS,
  })
  await delay(MINUTES * 60_000)
  const { total, failed, counts } = await load.stop()

  t.diagnostic(
    `${Math.round(moved.up / 2 ** 20)} MiB up, ${Math.round(moved.down / 2 ** 20)} MiB down, ${total} requests`,
  )
  assert.equal(failed, 0, JSON.stringify(counts))
  assert.deepEqual(await listSessions(), sessions)
  assert.ok(sockets.every((socket) => !socket.destroyed))
})
