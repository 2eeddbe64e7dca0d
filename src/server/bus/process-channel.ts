import type { ChildProcess } from 'node:child_process'
import { Server, Socket } from 'node:net'
import { errorMessage } from '../../base/text/error-message.ts'
import { TOPICS, type TopicName, type TopicValue } from './topics.ts'

/** Calls without a reply; beyond, as when the other process is stopped, further ones fail at once. */
const MAX_CALLS = 10_000

/** Nobody waits for the reply to a call without an id. */
interface Call {
  readonly method: string
  readonly args: readonly unknown[]
  readonly id?: number
}

interface Reply {
  readonly reply: number
  readonly result?: unknown
  readonly error?: string
}

interface ChannelOptions {
  /** What the other process calls here; `receive` is called with what it publishes. */
  readonly methods: object
  /** Listeners only pass through this process, which closes them once they are sent. */
  readonly passesListeners?: boolean
  /** The other process has missed something that has to be told again, and keeps up now. */
  onMissed(): void
}

/**
 * The channel between the control process and a worker: each calls the methods of the other, `Remote` are those at the other
 * end. What is said in one turn of the event loop is one message. A socket or listener that is the last argument or the
 * result goes with a message of its own, at once.
 */
export class ProcessChannel<Remote extends { [M in keyof Remote]: (...args: never[]) => unknown }> {
  readonly #port: ChildProcess
  readonly #options: ChannelOptions
  readonly #calls = new Map<number, PromiseWithResolvers<never>>()
  #lastCall = 0
  #unsent: (Call | Reply)[] = []
  #isFull = false
  #hasMissed = false

  constructor(port: ChildProcess | NodeJS.Process, options: ChannelOptions) {
    this.#port = port as ChildProcess
    this.#options = options
    this.#port.on('message', (messages: readonly (Call | Reply)[], handle: unknown) => {
      for (const message of messages) {
        if ('method' in message) void this.#answer(message, handle)
        else this.#onReply(message, handle)
      }
    })
  }

  /** Calls a method of the other process. */
  call<M extends keyof Remote & string>(
    method: M,
    ...args: Parameters<Remote[M]>
  ): Promise<Awaited<ReturnType<Remote[M]>>> {
    if (this.#calls.size >= MAX_CALLS) return Promise.reject(new Error('The process does not reply.'))
    const id = ++this.#lastCall
    const call = Promise.withResolvers<never>()
    this.#calls.set(id, call)
    this.#say({ method, args, id })
    return call.promise
  }

  /** Hands a socket to a method of the other process. */
  handOver<M extends keyof Remote & string>(method: M, socket: Socket): void {
    this.#say({ method, args: [] }, socket)
  }

  /** Tells what this process or the worker of that number publishes; a process that does not keep up misses it. */
  publish<T extends TopicName>(topic: T, value: TopicValue<T>, sender = 0): void {
    if (!this.#isFull) this.#say({ method: 'receive', args: [topic, value, sender] })
    else if (TOPICS[topic].lost === 'told again') this.#hasMissed = true
  }

  /** The other process has ended. */
  end(): void {
    for (const call of this.#calls.values()) call.reject(new Error('The process has exited.'))
    this.#calls.clear()
  }

  #say(message: Call | Reply, handle?: Socket | Server): void {
    if (handle === undefined) {
      if (this.#unsent.push(message) === 1) setImmediate(() => this.#flush())
      return
    }
    this.#flush()
    this.#send([message], handle)
  }

  #flush(): void {
    const messages = this.#unsent
    this.#unsent = []
    if (messages.length > 0) this.#send(messages)
  }

  #send(messages: (Call | Reply)[], handle?: Socket | Server): void {
    // Fails without an effect once the other process has ended.
    const takesMore = this.#port.send(messages, handle, (error) => {
      if (handle instanceof Server && this.#options.passesListeners) handle.close()
      else if (handle instanceof Socket && error) handle.destroy()
      if (!takesMore) this.#onDrain()
    })
    if (!takesMore) this.#isFull = true
  }

  #onDrain(): void {
    this.#isFull = false
    if (!this.#hasMissed) return
    this.#hasMissed = false
    this.#options.onMissed()
  }

  #onReply({ reply, result, error }: Reply, handle: unknown): void {
    const call = this.#calls.get(reply)
    this.#calls.delete(reply)
    if (error === undefined) call?.resolve((handle ?? result) as never)
    else call?.reject(new Error(error))
  }

  async #answer({ method, args, id }: Call, handle: unknown): Promise<void> {
    const methods = this.#options.methods as Record<string, (...args: unknown[]) => unknown>
    const run = methods[method]
    if (id === undefined) return void (await run?.(...args, handle))
    try {
      if (run === undefined) throw new Error('The process is starting.')
      const result = await run(...args, handle)
      if (result instanceof Server) this.#say({ reply: id }, result)
      else this.#say({ reply: id, result })
    } catch (error) {
      this.#say({ reply: id, error: errorMessage(error) })
    }
  }
}
