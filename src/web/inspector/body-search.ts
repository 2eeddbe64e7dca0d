import { type Capture, listCaptures } from './api.ts'
import { asText, type Message, readMessages } from './message.ts'

/** Bytes asked for at once; the agent answers traffic between two answers to us. */
const PIECE = 2 * 1024 * 1024
const MOST_AT_ONCE = 100
/** Longer bodies are searched up to here. */
const MOST_TEXT = 256 * 1024

/** The text of bodies in lower case, loaded little by little once a search asks for it. */
export class BodySearch {
  readonly #texts = new Map<string, string>()
  readonly #onProgress: () => void
  #wanted: readonly Capture[] = []
  #running = false

  constructor(onProgress: () => void) {
    this.#onProgress = onProgress
  }

  /** The text of both bodies; undefined while it is not known. */
  textOf(capture: Capture): string | undefined {
    if (capture.request.body_size === 0 && (capture.response?.body_size ?? 0) === 0 && !capture.in_flight)
      return ''
    return this.#texts.get(capture.id)
  }

  /** Loads what is missing, in the order given; replaces what was asked for before. */
  want(captures: readonly Capture[]): void {
    this.#wanted = captures.filter((capture) => !capture.in_flight && this.textOf(capture) === undefined)
    if (!this.#running && this.#wanted.length > 0) void this.#run()
  }

  forget(): void {
    this.#texts.clear()
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      while (this.#wanted.length > 0) {
        const [first] = this.#wanted
        // `before_id` leaves its own capture out, so it is given a name that sorts just behind the first.
        const found = await listCaptures(firstGroup(this.#wanted), `${first!.id}~`, false)
        for (const capture of found) this.#texts.set(capture.id, await textOf(capture))
        // Whatever lies between and was not among them, the agent no longer has.
        const last = found.at(-1)?.id ?? ''
        for (const { id } of this.#wanted) if (id >= last && !this.#texts.has(id)) this.#texts.set(id, '')
        this.#wanted = this.#wanted.filter(({ id }) => !this.#texts.has(id))
        this.#onProgress()
      }
    } catch {
      // The agent is gone; the list says so, and the next search asks again.
    } finally {
      this.#running = false
    }
  }
}

/** How many of the first captures weigh little enough to be asked for at once. */
function firstGroup(captures: readonly Capture[]): number {
  let size = 0
  let count = 0
  for (const { request, response } of captures) {
    size += request.body_size + (response?.body_size ?? 0)
    if (count > 0 && (size > PIECE || count >= MOST_AT_ONCE)) break
    count++
  }
  return count
}

async function textOf(capture: Capture): Promise<string> {
  const { request, response } = await readMessages(capture)
  return `${searchable(request)}\n${response ? searchable(response) : ''}`
}

function searchable({ body }: Message): string {
  return (asText(body.subarray(0, MOST_TEXT)) ?? '').toLowerCase()
}
