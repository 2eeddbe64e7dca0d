import { connect as connectTcp, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type DialFailureName, dialFailures } from '../../protocol/index.ts'
import type { UpstreamAddress } from '../spec/upstream-address.ts'

/** How to reach the upstream of one tunnel. */
export interface DialOptions {
  upstream: UpstreamAddress
  tls: { verify: boolean; ca: string | undefined }
  /** Protocols offered in ALPN if the upstream uses TLS. */
  alpn: string[]
  timeoutMs: number
}

/** Callbacks of one dial, and the buffer its socket reads into. */
export interface DialEvents {
  /** Used by sockets without TLS; TLS sockets emit `data`. */
  onread: OnReadOpts
  onConnected(socket: Socket): void
  onFailed(error: Error): void
}

const LOOPBACK = ['127.0.0.1', '::1']

/** Errors after which `localhost` is retried in the other address family; any other error is final. */
const RETRY_OTHER_FAMILY = new Set([
  'ECONNREFUSED',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'ENETUNREACH',
  'EHOSTUNREACH',
])

/**
 * Dials the upstream of one tunnel. `localhost` is tried in both address families, the last successful one first,
 * since a local service often listens on only one of them.
 */
export class UpstreamDialer {
  readonly #options: DialOptions
  #preferredLoopback = 0

  constructor(options: DialOptions) {
    this.#options = options
  }

  /** Starts a dial and returns a function that cancels it. The preamble is sent before anything else, TLS included. */
  dial(preamble: Buffer | undefined, events: DialEvents): () => void {
    const { host, kind } = this.#options.upstream
    if (kind === 'tcp' && host === 'localhost') return this.#dialLoopback(preamble, events)
    return this.#attempt(host, preamble, events)
  }

  #dialLoopback(preamble: Buffer | undefined, events: DialEvents): () => void {
    const first = this.#preferredLoopback
    const second = 1 - first
    let cancel = this.#attempt(LOOPBACK[first]!, preamble, {
      onread: events.onread,
      onConnected: events.onConnected,
      onFailed: (firstError) => {
        if (!RETRY_OTHER_FAMILY.has(errorCode(firstError) ?? '')) {
          events.onFailed(firstError)
          return
        }
        cancel = this.#attempt(LOOPBACK[second]!, preamble, {
          onread: events.onread,
          onConnected: (socket) => {
            this.#preferredLoopback = second
            events.onConnected(socket)
          },
          // The first error is more useful if the other family is not available at all.
          onFailed: (error) => events.onFailed(errorCode(error) === 'ECONNREFUSED' ? error : firstError),
        })
      },
    })
    return () => cancel()
  }

  #attempt(host: string, preamble: Buffer | undefined, events: DialEvents): () => void {
    const { upstream, timeoutMs } = this.#options
    const { onread } = events
    const address = upstream.kind === 'unix' ? { path: upstream.path } : { host, port: upstream.port }
    const tlsAfterPreamble = upstream.tls && preamble !== undefined
    const common = { ...address, allowHalfOpen: true, noDelay: true }
    let socket: Socket =
      upstream.tls && !tlsAfterPreamble
        ? connectTls({ ...common, ...this.#tlsOptions() })
        : connectTcp(tlsAfterPreamble ? common : { ...common, onread })

    const timeout = setTimeout(
      () => socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
      timeoutMs,
    )
    const failed = (error: Error) => {
      clearTimeout(timeout)
      events.onFailed(error)
    }
    const connected = () => {
      clearTimeout(timeout)
      socket.off('error', failed)
      events.onConnected(socket)
    }
    socket.once('error', failed)
    if (tlsAfterPreamble) {
      socket.once('connect', () => {
        const plain = socket
        plain.write(preamble)
        socket = connectTls({ socket: plain, ...this.#tlsOptions() })
        plain.off('error', failed)
        plain.on('error', (error) => socket.destroy(error))
        socket.once('error', failed)
        socket.once('secureConnect', connected)
      })
    } else {
      if (preamble) socket.write(preamble)
      socket.once(upstream.tls ? 'secureConnect' : 'connect', connected)
    }
    return () => {
      clearTimeout(timeout)
      socket.off('error', failed)
      socket.on('error', () => {})
      socket.destroy()
    }
  }

  #tlsOptions() {
    const { upstream, tls, alpn } = this.#options
    const isName = /[a-z]/i.test(upstream.host) && !upstream.host.includes(':')
    return {
      rejectUnauthorized: tls.verify,
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(isName ? { servername: upstream.host } : {}),
      ALPNProtocols: alpn,
    }
  }
}

function errorCode(error: Error): string | undefined {
  return (error as NodeJS.ErrnoException).code
}

const FAILURES: Readonly<Record<string, DialFailureName>> = {
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  // What OpenSSL reads as the version of a record is the beginning of an HTTP response.
  ERR_SSL_WRONG_VERSION_NUMBER: 'not_tls',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'not_tls',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_name',
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_expired',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  ENOENT: 'no_socket',
  EACCES: 'not_permitted',
  EHOSTUNREACH: 'no_route',
  ENETUNREACH: 'no_route',
}

/** Names why an upstream could not be reached; undefined if it is no known failure. */
export function classifyDialError(error: Error): DialFailureName | undefined {
  const code = errorCode(error) ?? ''
  if (code in FAILURES) return FAILURES[code]
  if (/CERT|UNABLE_TO_/.test(code)) return 'certificate_untrusted'
  return code === 'EPROTO' || code.startsWith('ERR_SSL_') ? 'tls' : undefined
}

/** Describes why an upstream could not be reached, and what to do about it. */
export function formatDialError(error: Error): string {
  const failure = classifyDialError(error)
  if (failure === undefined) return error.message
  const { reason, next } = dialFailures[failure]
  return `${reason}. ${next}`
}
