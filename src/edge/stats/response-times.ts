/** The upper bounds of the classes, in seconds; a last one has no bound. */
export const TIME_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const

/** How long requests waited for the head of their response, in classes: a histogram that costs a few comparisons. */
export class ResponseTimes {
  /** By class, each without the ones before it. */
  readonly counts: number[] = new Array(TIME_BOUNDS.length + 1).fill(0)
  /** In seconds. */
  sum = 0

  observe(milliseconds: number): void {
    const seconds = milliseconds / 1000
    let index = 0
    while (index < TIME_BOUNDS.length && seconds > TIME_BOUNDS[index]!) index++
    this.counts[index]!++
    this.sum += seconds
  }
}
