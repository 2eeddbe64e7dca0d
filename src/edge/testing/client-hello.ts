import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { ClientHelloParser } from '../listeners/client-hello.ts'

/** The ClientHello of a real client. */
export async function recordClientHello(t: TestContext, options: ConnectionOptions): Promise<Buffer> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ...options })
  client.on('error', () => {})
  const [socket] = await once(server, 'connection')
  const parser = new ClientHelloParser()
  for await (const chunk of socket) if (parser.push(chunk as Buffer) !== 'more') break
  client.destroy()
  return Buffer.from(parser.bytes)
}
