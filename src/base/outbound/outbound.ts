import { lookup as systemLookup } from 'node:dns/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP, type LookupFunction, connect as netConnect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import { createSecureContext, getCACertificates, connect as tlsConnect } from 'node:tls'
import { Agent, type Dispatcher, request } from 'undici'
import { parseAddress } from '../cidr.ts'
import { ByteQueue } from '../io/byte-queue.ts'
import { compileAllowList } from './allow-list.ts'
import { isPublicAddress } from './public-address.ts'

/** Why an outbound call was refused or failed. */
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

/** An outbound call that was not made or did not end well; the message may be shown to whoever configured the URL. */
export class OutboundProblem extends Error {
  readonly code: OutboundProblemCode

  constructor(code: OutboundProblemCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutboundProblem'
    this.code = code
  }
}

/** All addresses of a name. */
export type AddressLookup = (host: string) => Promise<string[]>

/** What an outbound client may do; the defaults are those of P45. */
export interface OutboundOptions {
  /**
   * What the operator lets calls reach beside the public Internet: ranges, addresses, host names (`*.` covers all
   * names below), each of the last three with `:port` if wanted. Plain HTTP and other ports are for these alone.
   */
  allow?: string[]
  lookup?: AddressLookup
  /** PEM certificates trusted in addition to the well-known ones. */
  extraCa?: string[]
  /** The ports that calls to the public Internet may use. */
  ports?: number[]
  maxBytes?: number
  dnsTimeoutMs?: number
  totalTimeoutMs?: number
}

/** What `fetch` is given beside the URL, as far as it is understood here. */
export interface OutboundRequest {
  readonly method?: string
  readonly headers?: ConstructorParameters<typeof Headers>[0]
  readonly body?: string | Uint8Array | URLSearchParams | null
  readonly signal?: AbortSignal | null
}

/** An answer that has been read. */
export interface OutboundResponse {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly [string, string][]
  readonly body: Uint8Array<ArrayBuffer>
}

/** The one way out of the platform: every call to a URL that somebody configured goes through it. */
export interface Outbound {
  /** Like `fetch`, but never follows a redirect, and answers with the whole body already read. */
  fetch(url: string | URL, init?: OutboundRequest): Promise<Response>
  /** The same guard for libraries built on undici. Size and total time are then theirs to limit. */
  readonly dispatcher: Dispatcher
  /** The same guard for libraries built on node:http and node:https. Size and total time are theirs to limit. */
  readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent }
  close(): Promise<void>
}

interface DialTarget {
  host: string
  port: number
  secure: boolean
}

/** Makes the guarded client. Throws a sentence for an allow-list entry that cannot be read. */
export function createOutbound(options: OutboundOptions = {}): Outbound {
  const { ports = [443], maxBytes = 1024 * 1024, dnsTimeoutMs = 5000, totalTimeoutMs = 10_000 } = options
  const { lookup = lookupAddresses, extraCa = [] } = options
  const allowList = compileAllowList(options.allow ?? [])
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), ...extraCa] })

  /** Resolves a name once and answers its addresses if, and only if, every one of them may be dialled. */
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
    // What was checked is what is dialled: nothing asks the resolver a second time.
    const checkedLookup: LookupFunction = (_host, { all }, done) => {
      const results = addresses.map((address) => ({ address, family: isIP(address) }))
      if (all) done(null, results)
      else done(null, results[0]!.address, results[0]!.family)
    }
    const { host, port, secure } = target
    const name = isIP(host) > 0 ? {} : { servername: host }
    const socket = secure
      ? tlsConnect({ host, port, lookup: checkedLookup, secureContext, ALPNProtocols: ['http/1.1'], ...name })
      : netConnect({ host, port, lookup: checkedLookup })
    await waitForConnect(socket, secure ? 'secureConnect' : 'connect', totalTimeoutMs, host)
    socket.setNoDelay(true)
    return socket
  }

  const dispatcher = new Agent({
    connect: ({ hostname, port, protocol }, callback) => {
      const secure = protocol === 'https:'
      dial({ host: normalizeHost(hostname), port: Number(port) || (secure ? 443 : 80), secure }).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      )
    },
  })
  const agents = {
    http: guardAgent(new HttpAgent({ keepAlive: true }), false),
    https: guardAgent(new HttpsAgent({ keepAlive: true }), true),
  }

  /** Replaces how a node agent opens sockets; pooling and keep-alive stay its own. */
  function guardAgent<A extends HttpAgent>(agent: A, secure: boolean): A {
    agent.createConnection = (to, callback) => {
      const port = Number(to.port) || (secure ? 443 : 80)
      dial({ host: normalizeHost(to.host ?? 'localhost'), port, secure }).then(
        (socket) => callback?.(null, socket),
        (error) => callback?.(error, undefined as unknown as Duplex),
      )
      return undefined
    }
    return agent
  }

  return {
    dispatcher,
    agents,
    async fetch(input, init = {}) {
      const url = parseUrl(input)
      const deadline = AbortSignal.timeout(totalTimeoutMs)
      const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline
      try {
        const { method = 'GET' } = init
        // Not the library's own fetch, which copies what is sent through several streams.
        const response = await request(url, { method, ...encodeRequest(init), signal, dispatcher })
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
      await dispatcher.destroy()
    },
  }
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

/** Does not say where a name leads: whoever configured it would learn the addresses of names that are known only here. */
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
    // Stays for good: an error in the moment before the next owner listens must not end the process.
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

/** What came back, as `fetch` would tell it. */
export function toResponse({ body, headers, ...init }: OutboundResponse): Response {
  const bodyless = [101, 204, 205, 304].includes(init.status)
  return new Response(bodyless ? null : body, { ...init, headers: [...headers] })
}

/** What is sent, with what a receiver may expect to be told of it. */
export function encodeRequest({ headers: headersInit, body: content }: OutboundRequest): {
  headers: Headers
  body: string | Uint8Array | null
} {
  const headers = new Headers(headersInit)
  const isForm = content instanceof URLSearchParams
  if (isForm && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8')
  if (!headers.has('accept')) headers.set('accept', '*/*')
  // Nothing here unpacks an answer, and its size is limited as it comes.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  if (!headers.has('user-agent')) headers.set('user-agent', 'adit')
  return { headers, body: isForm ? content.toString() : (content ?? null) }
}

function toHeaderPairs(headers: Readonly<Record<string, string | string[] | undefined>>): [string, string][] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  )
}

/** Reads an answer, up to the limit. */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  url: URL,
): Promise<Uint8Array<ArrayBuffer>> {
  const queue = new ByteQueue(limit)
  for await (const chunk of body) {
    // Leaving the loop cancels the body, which ends the connection.
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

/** A host as it is looked up: no brackets, no final dot, so that one host has one name. */
function normalizeHost(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()
}

/** An address of this machine is public at times, but a call to it is a call to ourselves. */
export function isOwnAddress(address: string): boolean {
  const value = parseAddress(address)?.value
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((entry) => parseAddress(entry.address)?.value === value),
  )
}
