/** Parses server-sent events from text chunks. */
export class EventStreamParser {
  readonly #onData: (data: string) => void
  #buffer = ''

  constructor(onData: (data: string) => void) {
    this.#onData = onData
  }

  push(text: string): void {
    const events = (this.#buffer + text).split('\n\n')
    this.#buffer = events.pop()!
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
      if (data.length > 0) this.#onData(data.join('\n'))
    }
  }
}
