import type { ByteStream } from '../../base/io/streams/stream.ts'
import { MAX_ATTEMPTS, type UpstreamTarget } from '../contracts/backend.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { type ConnectionStep, MAX_FORWARDS } from '../contracts/module.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { TcpHost } from '../contracts/table.ts'
import { clientInfoOf } from '../contracts/tunnels.ts'
import { EdgeError, edgeError } from '../errors.ts'

/** The chain of a TCP connection: the host that accepted it, then the internal endpoints that policies forward it to. */
export class ForwardChain {
  readonly #runtime: EdgeRuntime
  readonly #hosts: TcpHost[]
  /** The TLS policy of the first host when the connection was accepted. */
  readonly tlsPolicyKey: string | undefined
  /** True while the client's TLS is not terminated. */
  passthroughTls: boolean
  /** Opened by a policy, which goes on with its next action where that fails. */
  #stream: ByteStream | undefined

  constructor(runtime: EdgeRuntime, host: TcpHost, passthroughTls: boolean) {
    this.#runtime = runtime
    this.#hosts = [host]
    this.tlsPolicyKey = host.tlsPolicy?.key
    this.passthroughTls = passthroughTls
  }

  /** The host that accepted the connection. */
  get first(): TcpHost {
    return this.#hosts[0]!
  }

  /** The host whose upstream gets the connection. */
  get last(): TcpHost {
    return this.#hosts.at(-1)!
  }

  /** Runs the steps of the last host, before or after the handshake; returns why they reject the connection. */
  admit(connection: ClientConnection, phase: 'connectionSteps' | 'securedConnectionSteps'): unknown {
    return this.#check(() => this.#run(this.last[phase], connection))
  }

  /** Whether a changed configuration still admits the connection, which `current` would accept now. */
  revalidate(connection: ClientConnection, current: TcpHost): unknown {
    return this.#check(() => {
      for (const { connectionSteps = [], securedConnectionSteps = [] } of [current, ...this.#hosts.slice(1)])
        for (const step of [...connectionSteps, ...securedConnectionSteps]) step(connection)
    })
  }

  /** Opens the stream to the upstream before it is needed; false when none can be opened. */
  prepare(connection: ClientConnection): boolean {
    this.#stream ??= this.#openLast(connection)
    return this.#stream !== undefined
  }

  /** The stream to the upstream; undefined when none can be opened. */
  open(connection: ClientConnection): ByteStream | undefined {
    return this.#stream ?? this.#openLast(connection)
  }

  #check(run: () => void): unknown {
    try {
      run()
      return undefined
    } catch (error) {
      this.first.counters.rejections++
      if (!(error instanceof EdgeError))
        this.#runtime.log.error({ err: error }, 'connection step failed with an internal error')
      return error
    }
  }

  #run(steps: readonly ConnectionStep[] = [], connection: ClientConnection): void {
    for (const step of steps) step(connection, (target) => this.#forward(target, connection))
  }

  /** Continues on an internal endpoint; returns why that cannot be reached. */
  #forward(target: TcpHost, connection: ClientConnection): EdgeError | undefined {
    if (this.#hosts.length > MAX_FORWARDS) throw edgeError('too_many_forwards', String(MAX_FORWARDS))
    const terminates = target.tlsPolicy !== undefined
    if (terminates && !this.passthroughTls) throw edgeError('tls_terminated')
    this.#hosts.push(target)
    target.counters.connections++
    this.#run(target.connectionSteps, connection)
    // Its own policy has forwarded the connection, or it needs a handshake first.
    if (this.last !== target || terminates) return undefined
    this.#stream = this.#openLast(connection)
    if (this.#stream !== undefined) return undefined
    this.#hosts.pop()
    return edgeError('internal_unreachable')
  }

  #openLast(connection: ClientConnection): ByteStream | undefined {
    const { proto, via, backend } = this.last
    const client = clientInfoOf(connection, proto, via, this.passthroughTls)
    const failedTargets: UpstreamTarget[] = []
    for (;;) {
      const target = backend(failedTargets)
      if (target === undefined || failedTargets.length === MAX_ATTEMPTS) return undefined
      try {
        return target.open(client)
      } catch {
        // The target is busy or offline: try another one.
        failedTargets.push(target)
      }
    }
  }
}
