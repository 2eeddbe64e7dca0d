/** The time, given to whatever decides by it so that tests can move it. */
export interface Clock {
  /** Wall-clock milliseconds: for what people and certificates read. */
  now(): number
  /** Monotonic milliseconds: for every duration, time-out and lease (P54). */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** RFC 3339 in UTC with whole seconds, the form of every timestamp in the API. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
}
