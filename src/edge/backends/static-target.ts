import { isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Dial } from '../../base/outbound/guarded-dial.ts'
import type { Pool, UpstreamTarget } from '../contracts/backend.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { ClientInfo } from '../contracts/tunnels.ts'
import { UpstreamPool } from '../upstream/pool.ts'
import { DialledStream } from './dialled-stream.ts'
import { DiallingUpstream } from './dialling-upstream.ts'

/** A fixed host and port that the server dials itself. */
export class StaticTarget implements UpstreamTarget {
  readonly name: string
  readonly pool: Pool
  readonly #host: string
  readonly #port: number
  readonly #secure: boolean
  readonly #dial: Dial
  /** The most recently opened stream. */
  #lastStream: DialledStream | undefined

  constructor(runtime: EdgeRuntime, dial: Dial, address: string, secure: boolean, via: ClientInfo['via']) {
    const colon = address.lastIndexOf(':')
    this.name = `${secure ? 'https' : 'http'}://${address}`
    this.#host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
    this.#port = Number(address.slice(colon + 1))
    this.#secure = secure
    this.#dial = dial
    const pool = new UpstreamPool(runtime, {
      via,
      proto: 'https',
      budget: { idle: 0 },
      shared: true,
      http2: false,
    })
    this.pool = {
      connect: (exchange, target, fresh) => {
        this.#lastStream = undefined
        const upstream = pool.connect(exchange, target, fresh)
        if (this.#lastStream === undefined || !exchange.hasBody) return upstream
        return new DiallingUpstream(exchange, upstream, this.#lastStream)
      },
    }
  }

  open(): DialledStream {
    this.#lastStream = this.#connect()
    return this.#lastStream
  }

  #connect(): DialledStream {
    const transport = this.#dial({ host: this.#host, port: this.#port })
    if (!this.#secure) return new DialledStream(transport, transport, 'connect')
    const socket = connectTls({
      socket: transport,
      ...(isIP(this.#host) === 0 ? { servername: this.#host } : { host: this.#host }),
    })
    return new DialledStream(socket, transport, 'secureConnect')
  }
}
