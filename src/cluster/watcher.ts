import type { MuxStream } from '../protocol/index.ts'
import { writeLine } from './json-lines.ts'
import type { RegistryEvent } from './wire.ts'

/** How long a published tunnel waits for a peer. One that takes longer is not waited for until it reports again. */
const REPORT_TIMEOUT_MS = 1000

/** A peer that watches this node's registry, and how much of it the peer has registered. */
export class Watcher {
  readonly #stream: MuxStream
  /** False for a node of the previous release. */
  readonly #knowsLegs: boolean
  #sent = 0
  #applied = 0
  /** Nodes of the previous release never report. */
  #isWaitedFor = true
  #waiting: { readonly count: number; resolve(): void }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(stream: MuxStream, knowsLegs: boolean) {
    this.#stream = stream
    this.#knowsLegs = knowsLegs
  }

  send(event: RegistryEvent): void {
    if ('legs' in event && !this.#knowsLegs) return
    this.#sent++
    writeLine(this.#stream, event)
  }

  /** The peer has registered this many events. */
  reportApplied(count: number): void {
    this.#applied = count
    this.#isWaitedFor = true
    this.#resolve((each) => each.count <= count)
  }

  /** Resolves once the peer has registered what was sent so far; undefined when there is nothing to wait for. */
  caughtUp(): Promise<void> | undefined {
    if (!this.#isWaitedFor || this.#applied >= this.#sent) return undefined
    this.#timer ??= setTimeout(() => this.stopWaiting(), REPORT_TIMEOUT_MS)
    return new Promise((resolve) => this.#waiting.push({ count: this.#sent, resolve }))
  }

  /** The peer is slow or gone. */
  stopWaiting(): void {
    this.#isWaitedFor = false
    this.#resolve(() => true)
  }

  #resolve(isDone: (each: { readonly count: number }) => boolean): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const done = this.#waiting.filter(isDone)
    this.#waiting = this.#waiting.filter((each) => !isDone(each))
    for (const { resolve } of done) resolve()
    // It made progress, so it has the whole time again.
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.stopWaiting(), REPORT_TIMEOUT_MS)
  }
}
