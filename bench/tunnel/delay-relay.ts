import { createDelayRelay } from '../../test/support/delay-relay.ts'

/** A long link as a process of its own: `node delay-relay.ts <listening port> <target port> <one-way ms>`. */
const [listening, target, oneWayMs] = process.argv.slice(2).map(Number) as [number, number, number]

createDelayRelay(target, oneWayMs).listen(listening, '127.0.0.1', () => console.log('relaying'))
