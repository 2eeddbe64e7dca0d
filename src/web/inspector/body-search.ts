import { type CaptureView, listCaptures } from './api.ts'
import { decodeText, type Message, parseMessages } from './message.ts'

/** Bytes asked for at once; the agent answers traffic between two answers to us. */
const BATCH_BYTES = 2 * 1024 * 1024
const MAX_BATCH_CAPTURES = 100
/** Longer bodies are searched up to here. */
const MAX_SEARCHED_BYTES = 256 * 1024

/** The text of bodies in lower case, loaded little by little once a search asks for it. */
export class BodySearch {
  readonly #texts = new Map<string, string>()
  readonly #onProgress: () => void
  #queue: readonly CaptureView[] = []
  #running = false

  constructor(onProgress: () => void) {
    this.#onProgress = onProgress
  }

  /** The text of both bodies; undefined while it is not known. */
  getText(capture: CaptureView): string | undefined {
    if (capture.request.body_size === 0 && (capture.response?.body_size ?? 0) === 0 && !capture.in_flight)
      return ''
    return this.#texts.get(capture.id)
  }

  /** Loads what is missing, in the order given; replaces what was asked for before. */
  load(captures: readonly CaptureView[]): void {
    this.#queue = captures.filter((capture) => !capture.in_flight && this.getText(capture) === undefined)
    if (!this.#running && this.#queue.length > 0) void this.#run()
  }

  clear(): void {
    this.#texts.clear()
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      while (this.#queue.length > 0) {
        const [first] = this.#queue
        // `before_id` leaves its own capture out, so it is given a name that sorts just behind the first.
        const captures = await listCaptures(firstBatchSize(this.#queue), `${first!.id}~`, false)
        for (const capture of captures) this.#texts.set(capture.id, await extractText(capture))
        // Whatever lies between and was not among them, the agent no longer has.
        const last = captures.at(-1)?.id ?? ''
        for (const { id } of this.#queue) if (id >= last && !this.#texts.has(id)) this.#texts.set(id, '')
        this.#queue = this.#queue.filter(({ id }) => !this.#texts.has(id))
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
function firstBatchSize(captures: readonly CaptureView[]): number {
  let size = 0
  let count = 0
  for (const { request, response } of captures) {
    size += request.body_size + (response?.body_size ?? 0)
    if (count > 0 && (size > BATCH_BYTES || count >= MAX_BATCH_CAPTURES)) break
    count++
  }
  return count
}

async function extractText(capture: CaptureView): Promise<string> {
  const { request, response } = await parseMessages(capture)
  return `${toSearchText(request)}\n${response ? toSearchText(response) : ''}`
}

function toSearchText({ body }: Message): string {
  return (decodeText(body.subarray(0, MAX_SEARCHED_BYTES)) ?? '').toLowerCase()
}
