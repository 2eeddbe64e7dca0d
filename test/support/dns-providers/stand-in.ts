import type { IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { startHttp } from '../local-server.ts'

/** A TXT record of a stand-in. */
export interface StoredRecord {
  readonly id: number
  readonly zone: string
  readonly name: string
  readonly value: string
  readonly ttl: number
}

/** What a stand-in starts with. */
export interface StandInOptions {
  readonly zones: readonly string[]
  readonly records?: readonly { readonly name: string; readonly value: string }[]
}

/** A provider that a test can inspect. */
export interface ProviderStandIn {
  /** The variables that configure our client for it, with valid credentials. */
  readonly variables: Readonly<Record<string, string>>
  /** The same with invalid credentials. */
  readonly invalidVariables: Readonly<Record<string, string>>
  /** What our error has to say about those. */
  readonly invalidMessage: RegExp
  /** The TXT values at a name. */
  values(name: string): Promise<string[]>
  /** Requests that the real API would not understand. */
  readonly violations: readonly string[]
}

/** A stand-in for an HTTP API. */
export interface ApiStandIn extends ProviderStandIn {
  /** Answers instead of the API. */
  intercept: ((request: ApiRequest) => ApiReply | undefined) | undefined
  readonly requests: readonly ApiRequest[]
  /** All records, as a name server has to publish them. */
  records(): readonly StoredRecord[]
}

type StandInBase = Pick<ApiStandIn, 'intercept' | 'violations' | 'requests' | 'records' | 'values'>

export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

export interface ApiReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The records of all zones of a stand-in. */
export class RecordStore {
  readonly zones: readonly string[]
  #records: StoredRecord[] = []
  #nextId = 1

  constructor({ zones, records = [] }: StandInOptions) {
    this.zones = zones
    for (const { name, value } of records) this.add(this.zoneOf(name), name, value, 300)
  }

  zoneOf(name: string): string {
    const matches = this.zones.filter((zone) => name === zone || name.endsWith(`.${zone}`))
    return matches.sort((one, other) => other.length - one.length)[0]!
  }

  recordsOf(name: string): StoredRecord[] {
    return this.#records.filter((record) => record.name === name)
  }

  all(): readonly StoredRecord[] {
    return this.#records
  }

  add(zone: string, name: string, value: string, ttl: number): StoredRecord {
    const record = { id: this.#nextId++, zone, name, value, ttl }
    this.#records.push(record)
    return record
  }

  remove(matches: (record: StoredRecord) => boolean): void {
    this.#records = this.#records.filter((record) => !matches(record))
  }
}

/** A request that violates the API. */
export class Violation extends Error {}

/** Throws a `Violation` unless the value is as documented. */
export function expect(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Violation(message)
}

/** Starts the HTTP side of a stand-in; `serve` throws a `Violation` for a request the API does not know. */
export async function startApiStandIn(
  t: TestContext,
  store: RecordStore,
  serve: (request: ApiRequest) => ApiReply,
): Promise<{ url: string; base: StandInBase }> {
  const violations: string[] = []
  const requests: ApiRequest[] = []
  const base: StandInBase = {
    intercept: undefined,
    violations,
    requests,
    records: () => store.all(),
    values: async (name) => store.recordsOf(name).map(({ value }) => value),
  }
  const port = await startHttp(t, (incoming, outgoing) => {
    void readRequest(incoming).then((request) => {
      requests.push(request)
      let reply: ApiReply
      try {
        reply = base.intercept?.(request) ?? serve(request)
      } catch (error) {
        violations.push(`${request.method} ${request.path}: ${(error as Error).message}`)
        reply = { status: 400, body: { message: (error as Error).message } }
      }
      const { status, headers = {}, body } = reply
      const isText = typeof body === 'string'
      const type = isText ? 'text/xml' : 'application/json'
      outgoing.writeHead(status, { ...(body === undefined ? {} : { 'content-type': type }), ...headers })
      outgoing.end(isText || body === undefined ? body : JSON.stringify(body))
    })
  })
  return { url: `http://127.0.0.1:${port}`, base }
}

async function readRequest(incoming: IncomingMessage): Promise<ApiRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const url = new URL(incoming.url ?? '/', 'http://stand-in')
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: incoming.headers as Record<string, string>,
    body: Buffer.concat(chunks).toString(),
  }
}

/** Requires a JSON body with exactly these fields. */
export function readJsonBody<T>({ headers, body }: ApiRequest, fields: readonly string[]): T {
  expect(headers['content-type'] === 'application/json', `content-type is ${headers['content-type']}`)
  const value = JSON.parse(body) as Record<string, unknown>
  expect(Object.keys(value).sort().join() === [...fields].sort().join(), `body is ${body}`)
  return value as T
}

/** Requires a TXT value as one quoted character string, and returns its text. */
export function readQuoted(text: string): string {
  const [, value] = /^"([A-Za-z0-9_-]{1,255})"$/.exec(text) ?? []
  expect(value !== undefined, `${text} is not a quoted character string`)
  return value
}
