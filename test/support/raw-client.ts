import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { eventually } from './eventually.ts'

/** A client that sends exact bytes and records what comes back. */
export class RawClient {
  readonly socket: Socket
  received = Buffer.alloc(0)
  ended = false
  error: NodeJS.ErrnoException | undefined
  closed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk])
    })
    socket.on('end', () => {
      this.ended = true
    })
    socket.on('error', (error) => {
      this.error = error
    })
    socket.on('close', () => {
      this.closed = true
    })
  }

  get text(): string {
    return this.received.toString('latin1')
  }

  write(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** Waits until the condition holds; throws on timeout. */
  async until(condition: (client: this) => boolean, description = 'the expected bytes'): Promise<this> {
    await eventually(
      () => condition(this),
      () => `${description}; got ${JSON.stringify(this.text)}`,
    )
    return this
  }

  /** Waits until the server ends or resets the connection. */
  untilClosed(): Promise<this> {
    return this.until(({ closed, ended }) => closed || ended, 'the end of the connection')
  }

  untilText(part: string): Promise<this> {
    return this.until(({ text }) => text.includes(part), JSON.stringify(part))
  }
}

/** Opens a raw connection that is closed after the test. */
export function openRawClient(t: TestContext, port: number, localAddress = '127.0.0.1'): RawClient {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true })
  t.after(() => socket.destroy())
  return new RawClient(socket)
}

/** The TLS session with which this connection could be resumed. */
export async function resumableSession(client: RawClient): Promise<Buffer | undefined> {
  const socket = client.socket as TLSSocket
  let session: Buffer | undefined
  socket.on('session', (ticket: Buffer) => {
    session = ticket
  })
  await client.untilText('ok')
  return session ?? socket.getSession()
}
