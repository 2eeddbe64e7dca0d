import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { listCaptures } from '../api.ts'
import { decodeText, type Message, parseMessages } from './message.ts'

/** Small batches, so that the agent can serve traffic in between. */
const BATCH_BYTES = 2 * 1024 * 1024
const MAX_BATCH_CAPTURES = 100
/** Only the beginning of longer bodies is searched. */
const MAX_SEARCHED_BYTES = 256 * 1024

/** A cache of body texts in lower case, loaded in batches once a search needs them. */
export class BodySearch {
  readonly #texts = new Map<string, string>()
  readonly #onProgress: () => void
  #queue: readonly CaptureView[] = []
  #running = false

  constructor(onProgress: () => void) {
    this.#onProgress = onProgress
  }

  /** The text of both bodies; undefined while it is not loaded. */
  getText(capture: CaptureView): string | undefined {
    if (capture.request.body_size === 0 && (capture.response?.body_size ?? 0) === 0 && !capture.in_flight)
      return ''
    return this.#texts.get(capture.id)
  }

  /** Loads the missing texts in this order; replaces the previous queue. */
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
        // `before_id` is exclusive, so an id that sorts just after the first capture includes it.
        const captures = await listCaptures(firstBatchSize(this.#queue), `${first!.id}~`, false)
        for (const capture of captures) this.#texts.set(capture.id, await extractText(capture))
        // Captures in this range that were not returned have been evicted by the agent.
        const last = captures.at(-1)?.id ?? ''
        for (const { id } of this.#queue) if (id >= last && !this.#texts.has(id)) this.#texts.set(id, '')
        this.#queue = this.#queue.filter(({ id }) => !this.#texts.has(id))
        this.#onProgress()
      }
    } catch {
      // The agent is unreachable; the page shows that, and the next search retries.
    } finally {
      this.#running = false
    }
  }
}

/** How many of the first captures fit into one batch. */
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
