import { RoundTrip } from '../../../base/io/sockets/round-trip.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { type IncomingClient, onRequestReply, pingClient } from './ssh2.ts'

/** A client that leaves more pings than this unanswered has no round-trip time. */
const MAX_UNANSWERED = 16

/** The pings of one connection, and the round-trip time that their replies show. */
export class Pings {
  readonly roundTrip = new RoundTrip()
  readonly #client: IncomingClient
  readonly #clock: Clock
  /** RFC 4254 section 4: replies arrive in the order of their requests. */
  readonly #sentAt: number[] = []

  constructor(client: IncomingClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
    onRequestReply(client, () => this.#onReply())
  }

  send(): void {
    if (this.#sentAt.length < MAX_UNANSWERED) this.#sentAt.push(this.#clock.monotonic())
    pingClient(this.#client)
  }

  #onReply(): void {
    const sentAt = this.#sentAt.shift()
    if (sentAt !== undefined) this.roundTrip.add(this.#clock.monotonic() - sentAt)
  }
}
