import { type AddressInfo, createServer, type Socket } from 'node:net'
import { stopListening } from './accept-pending.ts'
import { ConcurrencyLimiter, type ConcurrencyLimits } from './concurrency-limiter.ts'
import { type Listen, type ListenAddress, listen as openListener } from './listeners.ts'
import { readAddresses } from './socket-addresses.ts'

const MAX_HELD = 2_000

interface HoldingListenerOptions {
  readonly maxHeld?: number
  /** Addresses shared by many clients. */
  readonly isShared?: ConcurrencyLimits['isShared']
}

/**
 * A listener whose connections wait, unread, while nothing serves them: clients of a server that starts or stops are not
 * rejected, which would make them wait longer and longer before they try again. A source has its share of those that wait.
 */
export class HoldingListener {
  /** Each with the release of its slot. */
  readonly #held = new Map<Socket, () => void>()
  readonly #limiter: ConcurrencyLimiter
  readonly #server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => this.accept(socket))
  #serve: ((socket: Socket) => void) | undefined

  constructor({ maxHeld = MAX_HELD, isShared }: HoldingListenerOptions = {}) {
    this.#limiter = new ConcurrencyLimiter({ total: maxHeld, isShared })
  }

  /** Opens the port. */
  listen(address: ListenAddress, listen: Listen = openListener): Promise<AddressInfo> {
    return listen(this.#server, 'agent', address)
  }

  /** Serves the connections that wait, and every later one. */
  serve(onConnection: (socket: Socket) => void): void {
    this.#serve = onConnection
    for (const socket of [...this.#held.keys()]) {
      this.#release(socket)
      onConnection(socket)
    }
  }

  /** Lets later connections wait again. */
  hold(): void {
    this.#serve = undefined
  }

  /** Serves or holds a connection that another process has accepted. */
  accept(socket: Socket): void {
    socket.on('error', () => {})
    if (this.#serve === undefined) this.#hold(socket)
    else this.#serve(socket)
  }

  /** Closes the port, then the connections that wait. */
  async close(): Promise<void> {
    await stopListening(this.#server)
    for (const socket of this.#held.keys()) socket.destroy()
  }

  #hold(socket: Socket): void {
    const addresses = readAddresses(socket)
    const release = addresses && this.#limiter.acquireForClient(addresses.remoteAddress)
    if (release === undefined) {
      socket.destroy()
      return
    }
    this.#held.set(socket, release)
    socket.once('close', () => this.#release(socket))
  }

  #release(socket: Socket): void {
    this.#held.get(socket)?.()
    this.#held.delete(socket)
  }
}
