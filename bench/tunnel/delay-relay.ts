import { createDelayRelay } from '../../test/support/delay-relay.ts'

/**
 * A long link as a process of its own: `node delay-relay.ts <address> <port> <one-way ms>` relays that port of the address to
 * the same port of 127.0.0.1.
 */
const [address, port, oneWayMs] = process.argv.slice(2) as [string, string, string]

createDelayRelay(Number(port), Number(oneWayMs)).listen(Number(port), address, () => console.log('relaying'))
