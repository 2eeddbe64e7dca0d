import { createServer, type Socket } from 'node:net'
import { ProcessChannel } from '../process-channel.ts'
import type { TopicName, TopicValue } from '../topics.ts'

/** What the process of this module can be called for. */
export interface OtherProcess {
  add(a: number, b: number): number
  fail(): void
  receive<T extends TopicName>(topic: T, value: TopicValue<T>, sender: number): void
  /** How much of each topic it has received, and from whom the last. */
  received(): { counts: Record<string, number>; sender: number }
  /** Sends a line on a socket and ends it. */
  greet(socket: Socket): void
  /** A listener that it has opened. */
  listener(): Promise<ReturnType<typeof createServer>>
}

const counts: Record<string, number> = {}
let last = 0

const methods: OtherProcess = {
  add: (a, b) => a + b,
  fail() {
    throw new Error('It cannot be done.')
  },
  receive(topic, _value, sender) {
    counts[topic] = (counts[topic] ?? 0) + 1
    last = sender
  },
  received: () => ({ counts, sender: last }),
  greet: (socket) => void socket.end('hello\n'),
  listener: () =>
    new Promise((resolve) => {
      const server = createServer((socket) => socket.end('from the other process\n'))
      server.listen(0, '127.0.0.1', () => resolve(server))
    }),
}

new ProcessChannel(process, { methods, onMissed() {} })
process.on('disconnect', () => process.exit())
