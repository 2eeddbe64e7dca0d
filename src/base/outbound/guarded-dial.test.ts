import assert from 'node:assert/strict'
import type { lookup as systemLookup } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createDial, type Dial } from './guarded-dial.ts'

/** A resolver that returns these lists of addresses, one per lookup; the last one repeats. */
function createLookup(...results: string[][]): { lookup: typeof systemLookup; lookups: () => number } {
  let lookups = 0
  const lookup = ((_name: string, _options: unknown, done: (...args: unknown[]) => void) => {
    const addresses = results[Math.min(lookups++, results.length - 1)]!
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as typeof systemLookup
  return { lookup, lookups: () => lookups }
}

async function startListener(t: TestContext, host = '127.0.0.1') {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  }).listen(0, host)
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

/** Dials and returns `connected` or the error message. */
async function outcome(t: TestContext, dial: Dial, host: string, port: number): Promise<string> {
  const socket = dial({ host, port })
  t.after(() => socket.destroy())
  return Promise.race([
    once(socket, 'connect').then(() => 'connected'),
    once(socket, 'error').then(([error]) => (error as Error).message),
  ]).catch((error: Error) => error.message)
}

test('no spelling of an internal address is dialled', async (t) => {
  const { port, connections } = await startListener(t, '::')
  const dial = createDial()

  for (const host of [
    '127.0.0.1',
    '::1',
    '::',
    '0.0.0.0',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::7f00:1',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
    '169.254.169.254',
    'fd00:ec2::254',
    '168.63.129.16',
    'localhost',
    'localhost.',
    'LOCALHOST',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '0',
  ])
    assert.notEqual(await outcome(t, dial, host, port), 'connected', host)
  assert.equal(connections(), 0)
})

test('a name is resolved once, and only checked addresses are dialled', async (t) => {
  const { port, connections } = await startListener(t)
  const { lookup, lookups } = createLookup(['127.0.0.2'], ['127.0.0.1'])
  const dial = createDial({ allow: ['127.0.0.2'], lookup })

  assert.match(await outcome(t, dial, 'rebinding.test', port), /ECONNREFUSED/)
  assert.equal(lookups(), 1)
  assert.equal(connections(), 0)
})

test('one internal address rejects the name, and the error does not disclose it', async (t) => {
  const { port, connections } = await startListener(t)
  const dial = createDial({ lookup: createLookup(['1.1.1.1', '127.0.0.1']).lookup })

  const result = await outcome(t, dial, 'mixed.test', port)

  assert.match(result, /^mixed\.test is not on the public Internet/)
  assert.doesNotMatch(result, /127/)
  assert.equal(connections(), 0)
})

test("the platform's own public addresses are not dialled, whether written or named", async (t) => {
  const { lookup } = createLookup(['1.1.1.1'])
  const dial = createDial({ ownAddresses: ['1.1.1.1', '2606:4700::1111'], lookup })

  for (const host of ['1.1.1.1', '2606:4700:0::1111', 'ourselves.test'])
    assert.match(await outcome(t, dial, host, 443), /is not on the public Internet/, host)
})

test('allowed destinations are dialled, by address and by name', async (t) => {
  const { port } = await startListener(t)
  const { lookup } = createLookup(['127.0.0.1'])

  assert.equal(await outcome(t, createDial({ allow: ['127.0.0.1'] }), '127.0.0.1', port), 'connected')
  assert.equal(
    await outcome(t, createDial({ allow: ['inside.test'], lookup }), 'inside.test', port),
    'connected',
  )
  assert.notEqual(
    await outcome(t, createDial({ allow: [`inside.test:${port + 1}`], lookup }), 'inside.test', port),
    'connected',
  )
})
