import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { RawClient } from '../../../test/support/raw-client.ts'
import { encodeBytes, encodeText, encodeVarint, readFields, textOf } from '../../base/text/protobuf.ts'

/** The pod that a cluster names in its request. */
export interface TestPod {
  readonly id: string
  readonly name?: string
  readonly namespace?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** The request of a cluster for a service, with its length. */
export function clusterRequest(host: string, port: number, pod: TestPod = { id: '' }): Buffer {
  const { id, name = '', namespace = '', annotations = {} } = pod
  const entries = Object.entries(annotations).map(([key, value]) =>
    encodeBytes(4, Buffer.concat([encodeText(1, key), encodeText(2, value)])),
  )
  const identity = [encodeText(1, id), encodeText(2, name), encodeText(3, namespace), ...entries]
  return framed(
    Buffer.concat([
      encodeText(1, host),
      Buffer.concat([Buffer.from([0x10]), encodeVarint(port)]),
      encodeBytes(3, Buffer.concat(identity)),
    ]),
  )
}

/** A message with its length. */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16LE(message.length)
  return Buffer.concat([length, message])
}

/** The forwarder of a Kubernetes cluster, which connects to the ingress of the platform. */
export class ForwarderClient extends RawClient {
  declare readonly socket: TLSSocket
  #responseLength = 0

  /** Opens a connection that is closed after the test. */
  static open(t: TestContext, options: ConnectionOptions): ForwarderClient {
    const socket = connect({ host: '127.0.0.1', ...options })
    t.after(() => socket.destroy())
    return new ForwarderClient(socket)
  }

  /** The response: an endpoint id with its protocol, or a code with its message. */
  async response(): Promise<string[]> {
    await this.until(({ received }) => isComplete(received), 'the response')
    this.#responseLength = 2 + this.received.readUInt16LE(0)
    return [...readFields(this.received.subarray(2, this.#responseLength))].map(
      (field) => `${field.number} ${textOf(field)}`,
    )
  }

  /** Continues as a client in the cluster that speaks HTTP/2 with prior knowledge. */
  startHttp2(t: TestContext, authority: string): ClientHttp2Session {
    const session = connectHttp2(`http://${authority}`, { createConnection: () => this.socket })
    session.on('error', () => {})
    t.after(() => session.destroy())
    return session
  }

  /** What came after the response. */
  get answer(): string {
    return this.text.slice(this.#responseLength)
  }
}

const isComplete = (received: Buffer) =>
  received.length >= 2 && received.length >= 2 + received.readUInt16LE(0)
