import { DeferredStream } from '../../base/io/streams/deferred-stream.ts'
import { type ByteStream, silentSink } from '../../base/io/streams/stream.ts'
import { DialError, type UpstreamTarget } from '../contracts/backend.ts'
import type { ClientInfo } from '../contracts/tunnels.ts'
import { DialledStream } from './dialled-stream.ts'

/** A TCP connection that moves to the next target when a dial fails. It is attached once one target is connected. */
export class FallbackStream extends DeferredStream {
  readonly #client: ClientInfo
  readonly #nextTarget: (failedTargets: readonly UpstreamTarget[]) => UpstreamTarget | undefined
  readonly #failedTargets: UpstreamTarget[] = []
  /** The stream of the current target. */
  #stream: ByteStream

  constructor(
    client: ClientInfo,
    first: UpstreamTarget,
    failedTargets: readonly UpstreamTarget[],
    nextTarget: (failedTargets: readonly UpstreamTarget[]) => UpstreamTarget | undefined,
  ) {
    super(false)
    this.#client = client
    this.#nextTarget = nextTarget
    this.#failedTargets.push(...failedTargets)
    this.#stream = this.#open(first)
  }

  /** Opens the next target when the dial failed; false when none is left. */
  protected override reopen(error: Error | undefined): boolean {
    if (!(error instanceof DialError)) return false
    for (;;) {
      const target = this.#nextTarget(this.#failedTargets)
      if (target === undefined) return false
      try {
        this.#stream = this.#open(target)
        return true
      } catch {
        // The target went offline after it was picked; it counts as failed.
      }
    }
  }

  protected override cancel(error: Error | undefined): void {
    this.#stream.sink = silentSink
    this.#stream.reset(error)
    this.fail(error ?? new DialError('The connection was reset before an address was reached.'))
  }

  #open(target: UpstreamTarget): ByteStream {
    this.#failedTargets.push(target)
    const stream = target.open(this.#client)
    stream.sink = this
    if (stream instanceof DialledStream) stream.onConnected = () => this.attach(stream)
    else this.attach(stream)
    return stream
  }
}
