import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A request that a sink received. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The response of a sink. */
export interface SinkResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** A local server that fakes a receiver of events: records requests, and responds as the test says. */
export interface Sink {
  readonly url: string
  readonly arrivals: readonly ReceivedRequest[]
  /** `never` leaves a request without a response until the test ends. */
  respond: (request: ReceivedRequest) => SinkResponse | 'never' | Promise<SinkResponse | 'never'>
  close(): Promise<void>
}

/** Starts a sink on a free port of the loopback address. */
export async function startSink(t: TestContext, respond: Sink['respond']): Promise<Sink> {
  const arrivals: ReceivedRequest[] = []
  const sink = { arrivals, respond }
  const server = createServer((request, response) => {
    void receive(request).then(async (received) => {
      arrivals.push(received)
      const reply = await sink.respond(received)
      if (reply !== 'never') sendResponse(response, reply)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(close)
  return Object.assign(sink, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close })
}

async function receive(request: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const url = new URL(request.url ?? '/', 'http://sink')
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers as Record<string, string>,
    body: Buffer.concat(chunks),
  }
}

function sendResponse(response: ServerResponse, { status, headers = {}, body = '' }: SinkResponse): void {
  response.writeHead(status, headers).end(body)
}
