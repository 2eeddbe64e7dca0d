import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import type { TestContext } from 'node:test'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { createTestCa } from '../../../test/support/test-ca.ts'

/** Both ends of a transport, the client's first. */
export type Pair = [client: Duplex, server: Duplex]

/** The transports that every session must work over. */
export const transports: Record<string, (t: TestContext) => Promise<Pair>> = {
  pipe: async () => pipePair(),
  tcp: tcpPair,
  tls: tlsPair,
}

const testCa = createTestCa()

/** In memory, but with socket semantics: the writer may reuse its memory after the write. */
function pipePair(): Pair {
  const pair = duplexPair()
  for (const side of pair) {
    const write = side._write
    side._write = (chunk: Buffer, encoding, done) => write.call(side, Buffer.from(chunk), encoding, done)
  }
  return pair
}

async function tcpPair(t: TestContext): Promise<Pair> {
  const server = createServer()
  const accepted = once(server, 'connection') as Promise<[Socket]>
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  return withCleanup(t, client, (await accepted)[0], server)
}

async function tlsPair(t: TestContext): Promise<Pair> {
  const ca = await testCa
  const server = createTlsServer(await ca.issue('localhost', '127.0.0.1'))
  const accepted = once(server, 'secureConnection') as Promise<[Socket]>
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ca: ca.caPem })
  return withCleanup(t, client, (await accepted)[0], server)
}

function withCleanup(t: TestContext, client: Socket, accepted: Socket, server: { close(): unknown }): Pair {
  t.after(() => {
    client.destroy()
    accepted.destroy()
    server.close()
  })
  return [client, accepted]
}
