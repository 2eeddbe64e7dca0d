import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A request as it arrived. */
export interface Arrival {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** How a sink answers. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** A local server standing in for a receiver of events: keeps what arrives, and answers as the test says. */
export interface Sink {
  readonly url: string
  readonly arrivals: readonly Arrival[]
  /** `never` leaves requests without an answer until the test ends. */
  answer: (arrival: Arrival) => Answer | 'never' | Promise<Answer | 'never'>
  close(): Promise<void>
}

/** Starts a sink on a free port of the loopback address. */
export async function startSink(t: TestContext, answer: Sink['answer']): Promise<Sink> {
  const arrivals: Arrival[] = []
  const sink = { arrivals, answer }
  const server = createServer((request, response) => {
    void receive(request).then(async (arrival) => {
      arrivals.push(arrival)
      const given = await sink.answer(arrival)
      if (given !== 'never') respond(response, given)
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

async function receive(request: IncomingMessage): Promise<Arrival> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  const url = new URL(request.url ?? '/', 'http://sink')
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers as Record<string, string>,
    body: Buffer.concat(pieces),
  }
}

function respond(response: ServerResponse, { status, headers = {}, body = '' }: Answer): void {
  response.writeHead(status, headers).end(body)
}
