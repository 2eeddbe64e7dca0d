import { setTimeout as delay } from 'node:timers/promises'
import { joinHostPort } from '../../base/hostport.ts'
import { RETRYABLE_REFUSALS, Refusal } from '../../protocol/index.ts'
import type { LiveTunnel } from '../live-tunnel.ts'
import type { Screen } from './screen.ts'
import type { ForwardTarget } from './ssh2.ts'

/** One `-R` of a client, from its request on. */
export interface Forward {
  readonly target: ForwardTarget
  /** The port the client knows it by: the one it asked for, or the one it was given for 0. */
  port: number
}

interface Asked extends Forward {
  accept(port?: number): void
  reject(): void
}

interface Bound extends Forward {
  readonly tunnel: LiveTunnel
  /** As the user wrote it. */
  readonly text: string
  stopWatching(): void
}

/** What the forwards of a connection need of it. */
export interface ForwardsOptions {
  bind(forward: Forward): Promise<LiveTunnel> | LiveTunnel
  unbind(bindId: string): void
  say(tell: (screen: Screen) => void): void
  textOf(error: unknown): string
  /** Begins to show the tunnel's requests; the answer ends it. */
  watch(tunnel: LiveTunnel): () => void
}

const MOST_FORWARDS = 10

/** How long a forward waits for a name that is about to be free, and how often it asks. */
const MAX_WAIT_MS = 30_000
const RETRY_MS = 500

/** Requests that may wait for an answer; those on top get theirs without a reason. */
const MOST_ASKED = 3 * MOST_FORWARDS

/** The forwards of one connection: those asked for, which wait for the words that come with them, and those online. */
export class Forwards {
  readonly #options: ForwardsOptions
  readonly #bound = new Map<string, Bound>()
  #asked: Asked[] = []
  #binding: Promise<void> = Promise.resolve()
  #busy = 0
  #labelled = 0
  #over = false
  /** True when the client was told no at least once. */
  refusedAny = false

  constructor(options: ForwardsOptions) {
    this.#options = options
  }

  get bound(): Bound[] {
    return [...this.#bound.values()]
  }

  /** True while there is a tunnel, or may soon be one. */
  get any(): boolean {
    return this.#bound.size + this.#asked.length + this.#busy > 0
  }

  add(request: Omit<Asked, 'port'>): void {
    if (this.#asked.length + this.#busy >= MOST_ASKED) {
      request.reject()
      return
    }
    this.#asked.push({ ...request, port: request.target.bindPort })
  }

  /** Binds what has been asked for, one after the other; resolves when all is decided. */
  bindAll(): Promise<void> {
    const asked = this.#asked
    this.#asked = []
    this.#busy += asked.length
    this.#binding = this.#binding.then(async () => {
      for (const forward of asked) {
        await this.#bindOne(forward)
        this.#busy--
      }
    })
    return this.#binding
  }

  /** The command that came with them cannot be obeyed. */
  rejectAll(): void {
    for (const { reject } of this.#asked) reject()
    this.#asked = []
    this.refusedAny = true
  }

  /** False when there is no such forward. Connections that are open go on, as they do with OpenSSH's own server. */
  cancel(target: ForwardTarget): boolean {
    const found = this.bound.find(
      (bound) => bound.target.bindAddr === target.bindAddr && bound.port === target.bindPort,
    )
    if (found === undefined) return false
    this.#forget(found)
    this.#options.unbind(found.tunnel.bindId)
    return true
  }

  /** The tunnel was taken offline by the server. */
  ended(bindId: string): void {
    const found = this.bound.find(({ tunnel }) => tunnel.bindId === bindId)
    if (found !== undefined) this.#forget(found)
  }

  close(): void {
    this.#over = true
    this.#asked = []
    for (const bound of this.bound) this.#forget(bound)
  }

  async #bindOne(forward: Asked): Promise<void> {
    const text = textOf(forward.target)
    try {
      if (this.#over) return
      this.#checkRoom(forward.target)
      const tunnel = await this.#bindPatiently(forward, text)
      // For 0 the client has to be told a port, and two forwards must not share one.
      forward.port = forward.target.bindPort || (tunnel.port ?? ++this.#labelled)
      if (this.#bound.has(keyOf(forward))) {
        this.#options.unbind(tunnel.bindId)
        throw new RefusedForward(SAME)
      }
      const bound = { ...forward, tunnel, text, stopWatching: this.#options.watch(tunnel) }
      this.#bound.set(keyOf(forward), bound)
      forward.accept(forward.port)
      this.#options.say((screen) => screen.tunnel(tunnel, text))
    } catch (error) {
      this.refusedAny = true
      forward.reject()
      const reason = error instanceof RefusedForward ? error.message : this.#options.textOf(error)
      this.#options.say((screen) => screen.refused(`-R ${text}`, reason))
    }
  }

  /** SSH clients cannot ask again, so that a refusal that ends by itself is waited out here. */
  async #bindPatiently(forward: Asked, text: string): Promise<LiveTunnel> {
    const deadline = performance.now() + MAX_WAIT_MS
    let told = false
    for (;;) {
      try {
        return await this.#options.bind(forward)
      } catch (error) {
        const retryable = error instanceof Refusal && RETRYABLE_REFUSALS.has(error.number)
        if (!retryable || this.#over || performance.now() > deadline) throw error
        if (!told) this.#options.say((screen) => screen.waiting(`-R ${text}`, error.message))
        told = true
        await delay(RETRY_MS)
      }
    }
  }

  #checkRoom(target: ForwardTarget): void {
    if (this.#bound.size >= MOST_FORWARDS)
      throw new RefusedForward(`A connection may have ${MOST_FORWARDS} forwards. Open another one.`)
    if (target.bindPort !== 0 && this.#bound.has(keyOf({ target, port: target.bindPort })))
      throw new RefusedForward(SAME)
  }

  #forget(bound: Bound): void {
    bound.stopWatching()
    this.#bound.delete(keyOf(bound))
  }
}

class RefusedForward extends Error {}

const SAME =
  'This connection forwards that address already, and the client could not tell the two apart. Give one of them a name, or open another connection.'

function keyOf({ target, port }: Forward): string {
  return `${target.bindAddr}\0${port}`
}

function textOf({ bindAddr, bindPort }: ForwardTarget): string {
  return bindAddr === '' || bindAddr === 'localhost' ? String(bindPort) : joinHostPort(bindAddr, bindPort)
}
