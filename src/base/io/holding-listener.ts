import { once } from 'node:events'
import { type AddressInfo, createServer, type ListenOptions, type Socket } from 'node:net'

const MAX_HELD = 2_000

/**
 * A listener whose connections wait, unread, while nothing serves them: clients of a server that starts or stops are not
 * rejected, which would make them wait longer and longer before they try again.
 */
export class HoldingListener {
  readonly #held = new Set<Socket>()
  readonly #maxHeld: number
  readonly #server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => this.accept(socket))
  #serve: ((socket: Socket) => void) | undefined

  constructor({ maxHeld = MAX_HELD }: { maxHeld?: number } = {}) {
    this.#maxHeld = maxHeld
  }

  /** Opens the port. */
  async listen(options: ListenOptions): Promise<AddressInfo> {
    this.#server.listen(options)
    await once(this.#server, 'listening')
    // An accept error, such as too many open files, must not end the process.
    this.#server.on('error', () => {})
    return this.#server.address() as AddressInfo
  }

  /** Serves the connections that wait, and every later one. */
  serve(onConnection: (socket: Socket) => void): void {
    this.#serve = onConnection
    for (const socket of this.#held) onConnection(socket)
    this.#held.clear()
  }

  /** Lets later connections wait again. */
  hold(): void {
    this.#serve = undefined
  }

  /** Serves or holds a connection that another process has accepted. */
  accept(socket: Socket): void {
    socket.on('error', () => {})
    if (this.#serve !== undefined) this.#serve(socket)
    else if (this.#held.size >= this.#maxHeld) socket.destroy()
    else {
      this.#held.add(socket)
      socket.once('close', () => this.#held.delete(socket))
    }
  }

  /** Closes the port and the connections that wait. */
  close(): void {
    this.#server.close()
    for (const socket of this.#held) socket.destroy()
  }
}
