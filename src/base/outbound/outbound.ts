import { lookup as systemLookup } from 'node:dns/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP, type LookupFunction, connect as netConnect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createSecureContext, getCACertificates, type SecureContext, connect as tlsConnect } from 'node:tls'
import type { request } from 'undici'
import { ByteQueue } from '../io/streams/byte-queue.ts'
import { parseAddress } from '../values/cidr.ts'
import { compileAllowList } from './allow-list.ts'
import { isPublicAddress } from './public-address.ts'

/** Why an outbound call was rejected or failed. */
export type OutboundProblemCode =
  | 'url'
  | 'scheme'
  | 'credentials'
  | 'port'
  | 'address'
  | 'dns'
  | 'unreachable'
  | 'timeout'
  | 'too_big'

/** A rejected or failed outbound call. The message may be shown to the person who configured the URL. */
export class OutboundProblem extends Error {
  readonly code: OutboundProblemCode

  constructor(code: OutboundProblemCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutboundProblem'
    this.code = code
  }
}

/** Resolves all addresses of a name. */
export type AddressLookup = (host: string) => Promise<string[]>

/** Limits of an outbound client; the defaults are those of P45. */
export interface OutboundOptions {
  /**
   * Destinations the operator allows in addition to the public Internet: ranges, addresses and host names (`*.` covers
   * all subdomains); the last two may have a `:port`. Plain HTTP and other ports are allowed for these only.
   */
  allow?: string[]
  lookup?: AddressLookup
  /** PEM certificates trusted in addition to the default roots. */
  extraCa?: string[]
  /** The ports allowed for calls to the public Internet. */
  ports?: number[]
  maxBytes?: number
  dnsTimeoutMs?: number
  totalTimeoutMs?: number
}

/** The options of `fetch` that are supported here. */
export interface OutboundRequest {
  readonly method?: string
  readonly headers?: ConstructorParameters<typeof Headers>[0]
  readonly body?: string | Uint8Array | URLSearchParams | null
  readonly signal?: AbortSignal | null
}

/** A response with its body read. */
export interface OutboundResponse {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly [string, string][]
  readonly body: Uint8Array<ArrayBuffer>
}

/** The platform's only outbound HTTP client: every call to a user-configured URL goes through it. */
export interface Outbound {
  /** Like `fetch`, but never follows redirects, and resolves after the complete body was read. */
  fetch(url: string | URL, init?: OutboundRequest): Promise<Response>
  /** The same guard for libraries built on node:http and node:https. They limit size and total time themselves. */
  readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent }
  close(): Promise<void>
}

/** Says beforehand what a client would reject. */
export interface OutboundGuard {
  /** Why a call to this URL would be rejected as things stand; undefined also when its name cannot be resolved. */
  check(url: string): Promise<OutboundProblem | undefined>
}

interface DialTarget {
  host: string
  port: number
  secure: boolean
}

/** Creates the guarded client. Throws a sentence for an invalid allow-list entry. */
export function createOutbound(options: OutboundOptions = {}): Outbound & OutboundGuard {
  const { ports = [443], maxBytes = 1024 * 1024, dnsTimeoutMs = 5000, totalTimeoutMs = 10_000 } = options
  const { lookup = lookupAddresses, extraCa = [] } = options
  const allowList = compileAllowList(options.allow ?? [])
  let secureContext: SecureContext | undefined
  const trust = () => {
    secureContext ??= createSecureContext({ ca: [...getCACertificates('default'), ...extraCa] })
    return secureContext
  }
  // An invalid certificate of the operator fails the start, not a call.
  if (extraCa.length > 0) trust()

  /** Resolves a name once. Returns its addresses if every one of them may be dialled, and throws otherwise. */
  async function resolveAllowed({ host, port, secure }: DialTarget): Promise<string[]> {
    const hostAllowed = allowList.allowsHost(host, port)
    const addresses =
      isIP(host) > 0
        ? [host]
        : await withTimeout(dnsTimeoutMs, resolve(lookup, host), () => dnsProblem(host, 'timeout'))
    const addressesAllowed = addresses.every((address) => allowList.allowsAddress(address, port))
    if (hostAllowed || addressesAllowed) return addresses
    if (!secure) throw new OutboundProblem('scheme', `${host} may be called over https only.`)
    if (!ports.includes(port))
      throw new OutboundProblem(
        'port',
        `${host} may not be called on port ${port}, only on ${ports.join(', ')}.`,
      )
    const forbidden = addresses.find(
      (address) =>
        !allowList.allowsAddress(address, port) && (!isPublicAddress(address) || isOwnAddress(address)),
    )
    if (forbidden !== undefined) throw new OutboundProblem('address', notPublicMessage(host))
    return addresses
  }

  async function dial(target: DialTarget): Promise<Socket> {
    const addresses = await resolveAllowed(target)
    // Dials the addresses that were checked: a second lookup could return others (DNS rebinding).
    const checkedLookup: LookupFunction = (_host, { all }, done) => {
      const results = addresses.map((address) => ({ address, family: isIP(address) }))
      if (all) done(null, results)
      else done(null, results[0]!.address, results[0]!.family)
    }
    const { host, port, secure } = target
    const name = isIP(host) > 0 ? {} : { servername: host }
    const socket = secure
      ? tlsConnect({
          ...{ host, port, lookup: checkedLookup, ...name },
          secureContext: trust(),
          ALPNProtocols: ['http/1.1'],
        })
      : netConnect({ host, port, lookup: checkedLookup })
    await waitForConnect(socket, secure ? 'secureConnect' : 'connect', totalTimeoutMs, host)
    socket.setNoDelay(true)
    return socket
  }

  let client: Promise<HttpClient> | undefined
  const agents = {
    http: guardAgent(new HttpAgent({ keepAlive: true }), false),
    https: guardAgent(new HttpsAgent({ keepAlive: true }), true),
  }

  /** Replaces how a Node agent opens sockets; it keeps its own pooling and keep-alive. */
  function guardAgent<A extends HttpAgent>(agent: A, secure: boolean): A {
    agent.createConnection = (options, callback) => {
      const port = Number(options.port) || (secure ? 443 : 80)
      dial({ host: normalizeHost(options.host ?? 'localhost'), port, secure }).then(
        (socket) => callback?.(null, socket),
        // The types of Node require a stream beside an error.
        (error) => callback?.(error, undefined as never),
      )
      return undefined
    }
    return agent
  }

  return {
    agents,
    async check(url) {
      try {
        await resolveAllowed(dialTarget(parseUrl(url)))
        return undefined
      } catch (error) {
        if (!(error instanceof OutboundProblem)) throw error
        return error.code === 'dns' ? undefined : error
      }
    },
    async fetch(input, init = {}) {
      const url = parseUrl(input)
      client ??= createClient(dial)
      const { send } = await client
      const deadline = AbortSignal.timeout(totalTimeoutMs)
      const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline
      try {
        const { method = 'GET' } = init
        // Not undici's `fetch`, which copies the body through several streams.
        const response = await send(url, { method, ...encodeRequest(init), signal })
        const body = await readBody(response.body, maxBytes, url)
        const { statusCode: status, statusText } = response
        return toResponse({ status, statusText, headers: toHeaderPairs(response.headers), body })
      } catch (error) {
        if (deadline.aborted)
          throw new OutboundProblem(
            'timeout',
            `${url.host} did not answer within ${totalTimeoutMs / 1000} s.`,
          )
        throw toProblem(error, url, init.signal)
      }
    },
    async close() {
      agents.http.destroy()
      agents.https.destroy()
      await (await client)?.close()
    },
  }
}

/** undici with connections of our own. */
interface HttpClient {
  readonly send: typeof request
  close(): Promise<void>
}

/** Loads undici with the first call: it takes 11 MiB of memory, and many processes make none. */
async function createClient(dial: (target: DialTarget) => Promise<Socket>): Promise<HttpClient> {
  const undici = await import('undici')
  const dispatcher = new undici.Agent({
    connect: ({ hostname, port, protocol }, callback) => {
      dial(dialTarget({ hostname, port, protocol })).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      )
    },
  })
  return {
    send: (url, options) => undici.request(url, { ...options, dispatcher }),
    close: () => dispatcher.destroy(),
  }
}

/** Where the connection of a URL leads. */
function dialTarget({
  hostname,
  port,
  protocol,
}: {
  hostname: string
  port: string
  protocol: string
}): DialTarget {
  const secure = protocol === 'https:'
  return { host: normalizeHost(hostname), port: Number(port) || (secure ? 443 : 80), secure }
}

async function lookupAddresses(host: string): Promise<string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address)
}

async function resolve(lookup: AddressLookup, host: string): Promise<string[]> {
  const addresses = await lookup(host).catch((error) => {
    throw dnsProblem(host, (error as NodeJS.ErrnoException).code ?? 'failed', error)
  })
  if (addresses.length === 0) throw dnsProblem(host, 'no addresses')
  return addresses
}

/** Does not name the address: that would disclose what internal names resolve to. */
export function notPublicMessage(host: string): string {
  return `${host} is not on the public Internet. The operator can allow it with --outbound-allow.`
}

function dnsProblem(host: string, reason: string, cause?: unknown): OutboundProblem {
  return new OutboundProblem('dns', `The name ${host} could not be resolved (${reason}).`, { cause })
}

function withTimeout<T>(milliseconds: number, work: Promise<T>, problem: () => Error): Promise<T> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(problem()), milliseconds)
    work.then(done, fail).finally(() => clearTimeout(timer))
  })
}

function waitForConnect(socket: Socket, event: string, milliseconds: number, host: string): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(
      () => socket.destroy(new OutboundProblem('timeout', `${host} took too long to connect.`)),
      milliseconds,
    )
    // Never removed: an error before the next owner listens must not end the process.
    socket.on('error', fail)
    socket.once(event, () => {
      clearTimeout(timer)
      done()
    })
    socket.once('close', () => clearTimeout(timer))
  })
}

function parseUrl(input: string | URL): URL {
  const url = URL.parse(input)
  if (url === null)
    throw new OutboundProblem('url', 'This is not a URL. Give one such as https://example.com/path.')
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new OutboundProblem('scheme', `${url.protocol} URLs cannot be called, only https.`)
  if (url.username !== '' || url.password !== '')
    throw new OutboundProblem('credentials', 'A URL must not carry a user name or password.')
  return url
}

/** Converts to the `Response` that `fetch` would return. */
export function toResponse({ body, headers, ...init }: OutboundResponse): Response {
  const bodyless = [101, 204, 205, 304].includes(init.status)
  return new Response(bodyless ? null : body, { ...init, headers: [...headers] })
}

/** The headers, with defaults, and the body to send. */
export function encodeRequest({ headers: headersInit, body: content }: OutboundRequest): {
  headers: Headers
  body: string | Uint8Array | null
} {
  const headers = new Headers(headersInit)
  const isForm = content instanceof URLSearchParams
  if (isForm && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8')
  if (!headers.has('accept')) headers.set('accept', '*/*')
  // Nothing here decompresses a response, and the size limit applies to the bytes received.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  if (!headers.has('user-agent')) headers.set('user-agent', 'adit')
  return { headers, body: isForm ? content.toString() : (content ?? null) }
}

function toHeaderPairs(headers: Readonly<Record<string, string | string[] | undefined>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  )
}

/** Reads a response body, up to the limit. */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  url: URL,
): Promise<Uint8Array<ArrayBuffer>> {
  const queue = new ByteQueue(limit)
  for await (const chunk of body) {
    // Leaving the loop cancels the body, which closes the connection.
    if (!queue.push(chunk))
      throw new OutboundProblem('too_big', `${url.host} answered with more than ${limit} bytes.`)
  }
  return queue.take() as Buffer<ArrayBuffer>
}

function toProblem(error: unknown, url: URL, signal?: AbortSignal | null): unknown {
  if (signal?.aborted) return signal.reason
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof OutboundProblem) return cause
  const { code, message } = error as NodeJS.ErrnoException
  const reason = code ?? message
  return new OutboundProblem('unreachable', `${url.host} could not be called (${reason}).`, { cause: error })
}

/** A host as it is looked up: lower case, no brackets, no final dot. */
function normalizeHost(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()
}

/** Whether the address belongs to this machine: it may be public, but calling it would be calling ourselves. */
export function isOwnAddress(address: string): boolean {
  const value = parseAddress(address)?.value
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((entry) => parseAddress(entry.address)?.value === value),
  )
}
