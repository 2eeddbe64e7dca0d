import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type ServerOpts } from 'node:net'
import { joinHostPort } from '../../values/hostport.ts'
import { limitUnsentBytes } from './unsent-limit.ts'

/** Where to listen; port 0 means any free port. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** Other processes may listen on the same port. */
  readonly reusePort?: boolean
}

/** Opens the listener of a server, which has a name within its process; resolves to the address that it is bound to. */
export type Listen = (server: Server, name: string, address: ListenAddress) => Promise<AddressInfo>

/** The process that had the listeners before, and still serves. */
export interface Predecessor {
  /** Where it listens under this name; undefined when it does not. */
  addressOf(name: string): Promise<AddressInfo | undefined>
  /**
   * Hands over a listener. It accepts connections as soon as the promise is resolved, so it has to be used in the same turn
   * of the event loop.
   */
  take(name: string): Promise<Server | undefined>
}

/** Opens a listener that belongs to this process alone. */
export const listen: Listen = onBothLoopbacks(async (server, _name, address) => {
  server.listen({ ...address })
  return listening(server)
})

/**
 * Opens `localhost` at the loopback address of each family, as clients that connect to it try both. The second listener
 * passes its connections to the first; a machine without IPv6 has none.
 */
function onBothLoopbacks(open: Listen): Listen {
  return async (server, name, address) => {
    if (address.host !== 'localhost') return open(server, name, address)
    const bound = await open(server, name, { ...address, host: '127.0.0.1' })
    const twin = createServer(optionsOf(server), (socket) => server.emit('connection', socket))
    server.once('close', () => twin.close())
    await open(twin, name, { ...address, host: '::1', port: bound.port }).catch((error) => {
      if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT') return
      server.close()
      throw error
    })
    return bound
  }
}

/** The options with which a server treats the sockets that it accepts. */
function optionsOf(server: Server & ServerOpts): ServerOpts {
  const { allowHalfOpen, pauseOnConnect, noDelay, keepAlive } = server
  return { allowHalfOpen, pauseOnConnect, noDelay, keepAlive } as ServerOpts
}

async function listening(server: Server): Promise<AddressInfo> {
  await once(server, 'listening')
  limitUnsentBytes(server)
  // An accept error, such as too many open files, must not end the process.
  server.on('error', () => {})
  return server.address() as AddressInfo
}

interface WaitingListener {
  readonly name: string
  readonly server: Server
  readonly address: ListenAddress
}

/**
 * The listeners of a process by name, so that another process can take them over with the connections that wait in their
 * queues. With a predecessor, listeners that it has stay its own until `takeOver`: a start that fails has accepted nothing.
 */
export class Listeners {
  /** By the address that was asked for, and by the port that it is bound to. */
  readonly #listening = new Map<string, Server>()
  readonly #waiting = new Map<string, WaitingListener>()
  readonly #predecessor: Predecessor | undefined
  #takesOver = false
  #isHandedOver = false

  constructor(predecessor?: Predecessor) {
    this.#predecessor = predecessor
  }

  /** Opens a listener, or takes it over if the predecessor has one of this name and address. */
  readonly listen: Listen = onBothLoopbacks(async (server, name, address) => {
    const key = listenerKey(name, address)
    const offered = await this.#predecessor?.addressOf(key)
    if (offered === undefined) return this.#open(name, server, address)
    const waiting = { name, server, address }
    this.#waiting.set(key, waiting)
    server.once('close', () => this.#waiting.delete(key))
    if (this.#takesOver) await this.#take(key, waiting)
    return offered
  })

  /** Takes over the listeners that the predecessor still has; from now on connections are accepted here too. */
  async takeOver(): Promise<void> {
    this.#takesOver = true
    await Promise.all([...this.#waiting].map(([key, waiting]) => this.#take(key, waiting)))
  }

  /** Where the open listener of this name and address is bound. */
  addressOf(key: string): AddressInfo | undefined {
    return (this.find(key)?.address() ?? undefined) as AddressInfo | undefined
  }

  /** The open listener of this name and address, for a successor. */
  find(key: string): Server | undefined {
    return this.#listening.get(key)
  }

  /** Whether a successor has the listeners. */
  get isHandedOver(): boolean {
    return this.#isHandedOver
  }

  /** Stops accepting everywhere: a successor has the listeners. Open connections stay. */
  handOver(): void {
    this.#isHandedOver = true
    for (const server of new Set(this.#listening.values())) server.close()
  }

  async #take(key: string, { name, server, address }: WaitingListener): Promise<void> {
    const inherited = await this.#predecessor?.take(key)
    const isWanted = this.#waiting.delete(key)
    if (!isWanted) inherited?.close()
    else if (inherited === undefined) await this.#open(name, server, address)
    else {
      server.listen(inherited)
      this.#add(name, server, address, await listening(server))
    }
  }

  async #open(name: string, server: Server, address: ListenAddress): Promise<AddressInfo> {
    const bound = await listen(server, name, address)
    this.#add(name, server, address, bound)
    return bound
  }

  #add(name: string, server: Server, { host, port }: ListenAddress, bound: AddressInfo): void {
    const keys = new Set([port, bound.port].map((each) => listenerKey(name, { host, port: each })))
    for (const key of keys) this.#listening.set(key, server)
    server.once('close', () => {
      for (const key of keys) if (this.#listening.get(key) === server) this.#listening.delete(key)
    })
  }
}

function listenerKey(name: string, { host, port }: ListenAddress): string {
  return `${name} ${joinHostPort(host, port)}`
}
