import { AssertionError } from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'

const MAX_PAUSE_MS = 10

/** Generous: a slow machine must not fail a test that waits for something that happens. */
export const TIMEOUT_MS = 60_000

/**
 * Polls until the check returns a truthy value, and returns it. A check that throws has not held yet, except when an
 * assertion in it failed.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  what: string | (() => string) = String(check),
  timeoutMs = TIMEOUT_MS,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + timeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    let cause: unknown
    try {
      const result = await check()
      if (result) return result as Exclude<T, undefined | null | false>
    } catch (error) {
      if (error instanceof AssertionError) throw error
      cause = error
    }
    if (performance.now() > deadline)
      throw new Error(`Not within ${timeoutMs} ms: ${typeof what === 'string' ? what : what()}`, { cause })
    await delay(pauseMs)
  }
}

/** Polls until `read` returns the expected value. */
export async function eventuallyEqual<T>(
  read: () => T | Promise<T>,
  expected: T,
  what = String(read),
): Promise<void> {
  let last: T | undefined
  const isEqual = async () => {
    last = await read()
    return isDeepStrictEqual(last, expected)
  }
  await eventually(isEqual, () => `${what}: ${inspect(expected)}, was ${inspect(last)}`)
}
