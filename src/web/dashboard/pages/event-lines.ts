/** Puts the data of server-sent events together from pieces of text. */
export class EventLines {
  readonly #onData: (data: string) => void
  #rest = ''

  constructor(onData: (data: string) => void) {
    this.#onData = onData
  }

  push(text: string): void {
    const events = (this.#rest + text).split('\n\n')
    this.#rest = events.pop()!
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
      if (data.length > 0) this.#onData(data.join('\n'))
    }
  }
}
