import { request } from 'node:http'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

/** A request without a response for this long has failed. */
const REQUEST_TIMEOUT_MS = 5000
const PAUSE_MS = 5
/** Requests without an outcome at a time: a machine that is busy with other tests slows a load down instead of failing it. */
const MAX_OPEN = 100

/** What became of the requests of a load. */
export interface LoadOutcome {
  readonly total: number
  /** Those without a response of status 200. */
  readonly failed: number
  /** By status, or by what went wrong. */
  readonly counts: Readonly<Record<string, number>>
  /** How long the slowest took. */
  readonly slowestMs: number
}

export interface LoadOptions {
  readonly host: string
  readonly perSecond: number
  /** The ports of the nodes now: one after the other is used, and the next one where a connection is refused. */
  ports(): readonly number[]
  readonly timeoutMs?: number | undefined
}

/** Sends requests at a steady rate, as far as they are answered, until it is stopped, each on a connection of its own. */
export function startLoad(t: TestContext, { host, perSecond, ports, timeoutMs }: LoadOptions) {
  const startedAt = performance.now()
  const outcomes: Promise<string>[] = []
  let stopped = false
  let open = 0
  let slowestMs = 0
  const sendNext = async (index: number): Promise<string> => {
    const targets = ports()
    const sentAt = performance.now()
    let outcome = ''
    for (let attempt = 0; attempt < targets.length; attempt++) {
      outcome = await requestHost(targets[(index + attempt) % targets.length]!, host, { timeoutMs })
      if (outcome !== 'ECONNREFUSED') break
    }
    slowestMs = Math.max(slowestMs, performance.now() - sentAt)
    return outcome
  }
  const run = async () => {
    while (!stopped) {
      const due = ((performance.now() - startedAt) / 1000) * perSecond
      while (outcomes.length < due && open < MAX_OPEN) {
        open += 1
        outcomes.push(sendNext(outcomes.length).finally(() => (open -= 1)))
      }
      await delay(PAUSE_MS)
    }
  }
  const running = run()
  t.after(() => {
    stopped = true
  })
  return {
    /** How many requests were sent so far. */
    get sent(): number {
      return outcomes.length
    },
    async stop(): Promise<LoadOutcome> {
      stopped = true
      await running
      const counts: Record<string, number> = {}
      for (const outcome of await Promise.all(outcomes)) counts[outcome] = (counts[outcome] ?? 0) + 1
      return { total: outcomes.length, failed: outcomes.length - (counts['200'] ?? 0), counts, slowestMs }
    },
  }
}

/** One request on a connection of its own; resolves to the status, or to what went wrong. */
export function requestHost(
  port: number,
  host: string,
  { path = '/', timeoutMs = REQUEST_TIMEOUT_MS }: { path?: string; timeoutMs?: number | undefined } = {},
): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request({
      ...{ host: '127.0.0.1', port, path, agent: false, timeout: timeoutMs },
      headers: { Host: `${host}:${port}` },
    })
    const fail = (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message)
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response')))
    outgoing.on('error', fail)
    outgoing.on('response', (response) => {
      response.resume()
      response.on('error', fail)
      response.on('end', () =>
        resolve(
          response.statusCode === 200
            ? '200'
            : `${response.statusCode} ${response.headers['adit-error-code'] ?? ''}`,
        ),
      )
    })
    outgoing.end()
  })
}
