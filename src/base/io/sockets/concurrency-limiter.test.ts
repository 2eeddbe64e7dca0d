import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/eventually.ts'
import { startTcp } from '../../../../test/support/local-server.ts'
import { clientKey } from '../../values/client-key.ts'
import { compileRules } from '../../values/ip-rules.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { SocketAddresses } from './socket-addresses.ts'

/** Acquires slots for a client until none is left. Returns their number. */
function acquireAll(limiter: ConcurrencyLimiter, ip: string): number {
  let count = 0
  while (limiter.acquireForClient(ip) !== undefined) count++
  return count
}

test('a client gets its slots and no more, and a released slot is free again', () => {
  const limiter = new ConcurrencyLimiter({ total: 10, perHolder: 2 })
  const first = limiter.acquireForClient('192.0.2.1')
  limiter.acquireForClient('192.0.2.1')

  const third = limiter.acquireForClient('192.0.2.1')
  const other = limiter.acquireForClient('192.0.2.2')
  first!()
  first!()
  const again = [limiter.acquireForClient('192.0.2.1'), limiter.acquireForClient('192.0.2.1')]

  assert.equal(third, undefined)
  assert.notEqual(other, undefined)
  assert.deepEqual(
    again.map((release) => release !== undefined),
    [true, false],
  )
})

for (const clients of [1, 2, 8, 50]) {
  test(`${clients} greedy clients leave a fair share free, and a new client is admitted`, () => {
    const limiter = new ConcurrencyLimiter({ total: 1020 })
    let acquired = 0
    // Round-robin, as they would arrive.
    for (let any = true; any; ) {
      any = false
      for (let client = 1; client <= clients; client++) {
        if (limiter.acquireForClient(`192.0.2.${client}`) === undefined) continue
        any = true
        acquired++
      }
    }
    const fairShare = Math.floor(1020 / (clients + 1))

    assert.ok(1020 - acquired >= fairShare - 1, `${acquired} of 1020 are in use`)
    assert.ok(acquireAll(limiter, '198.51.100.1') >= Math.floor(fairShare / 2) - 1)
  })
}

test('the first client gets at most half of the slots, also of those that others release', () => {
  const limiter = new ConcurrencyLimiter({ total: 100 })
  const first = acquireAll(limiter, '192.0.2.1')
  const second = acquireAll(limiter, '192.0.2.2')

  assert.equal(first, 50)
  assert.equal(second, 25)
  assert.equal(limiter.acquireForClient('192.0.2.1'), undefined)
  assert.notEqual(limiter.acquireForClient('192.0.2.3'), undefined)
})

test('a holder that leaves a sixteenth free gets nearly all slots, and so does the next of those', () => {
  const limiter = new ConcurrencyLimiter({ total: 1600, freeFraction: 1 / 16 })
  const first = acquireAll(limiter, '192.0.2.1')
  const second = acquireAll(limiter, '192.0.2.2')

  assert.deepEqual([first, second], [1500, 94])
  assert.equal(limiter.acquireForClient('192.0.2.1'), undefined)
  assert.notEqual(limiter.acquireForClient('192.0.2.3'), undefined)
})

test('a shared address gets nearly all slots, and other clients are still admitted', () => {
  const isShared = compileRules([{ cidr: '10.0.0.0/8', action: 'allow' }])
  const limiter = new ConcurrencyLimiter({ total: 160, perHolder: 2, isShared })

  const shared = acquireAll(limiter, '10.1.2.3')

  assert.equal(shared, 150)
  assert.notEqual(limiter.acquireForClient('192.0.2.1'), undefined)
})

test('released slots count as free for all, and a holder without slots is forgotten', () => {
  const limiter = new ConcurrencyLimiter({ total: 4 })
  const slots = ['ac_1', 'ac_1', 'ac_2'].map((id) => limiter.acquire(id)!)
  assert.equal(limiter.acquire('ac_3')?.(), undefined)

  for (const release of slots) release()

  assert.deepEqual([limiter.has('ac_1'), limiter.has('ac_2')], [false, false])
  assert.equal(acquireAll(limiter, '192.0.2.1'), 2)
})

test('a connection holds its slot until it closes, and one without a slot is closed', async (t) => {
  const limiter = new ConcurrencyLimiter({ total: 10, perHolder: 1 })
  const admitted: (SocketAddresses | undefined)[] = []
  const sockets: Socket[] = []
  const port = await startTcp(t, (socket) => {
    sockets.push(socket.resume())
    admitted.push(limiter.admit(socket))
  })
  const dial = () => {
    const client = connect(port, '127.0.0.1').resume()
    t.after(() => client.destroy())
    return client
  }

  const first = dial()
  await eventually(() => admitted.length === 1)
  const rejected = dial()
  await once(rejected, 'close')
  first.resetAndDestroy()
  await eventually(() => sockets[0]!.closed)
  dial()
  await eventually(() => admitted.length === 3)

  assert.deepEqual(
    admitted.map((addresses) => addresses?.remoteAddress),
    ['127.0.0.1', undefined, '127.0.0.1'],
  )
  assert.equal(admitted[0]!.localPort, port)
})

test('a connection whose peer has gone already is closed without a slot', () => {
  const limiter = new ConcurrencyLimiter({ total: 2 })
  const socket = new Socket()

  assert.equal(limiter.admit(socket), undefined)
  assert.equal(socket.destroyed, true)
  assert.equal(acquireAll(limiter, '192.0.2.1'), 1)
})

test('accounts share slots as clients do, each under its own id', () => {
  const limiter = new ConcurrencyLimiter({ total: 4 })
  const acquired = ['ac_1', 'ac_1', 'ac_1', 'ac_2', 'ac_2'].map((id) => limiter.acquire(id) !== undefined)

  assert.deepEqual(acquired, [true, true, false, true, false])
  assert.deepEqual([limiter.has('ac_2'), limiter.has('ac_3')], [true, false])
})

const same: [one: string, other: string, expected: boolean][] = [
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['::ffff:192.0.2.1', '192.0.2.1', true],
  ['2001:db8::1', '2001:db8::ffff:1', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['fe80::1%eth0', 'fe80::2%eth0', true],
]

for (const [one, other, expected] of same) {
  test(`${one} and ${other} are ${expected ? 'one client' : 'two clients'}`, () => {
    assert.equal(clientKey(one) === clientKey(other), expected)
  })
}

test('the slots of a client in other processes count for its limit, not for what is free here', () => {
  const limits = { total: 10, perHolder: 3 }
  const here = new ConcurrencyLimiter(limits)
  const there = new ConcurrencyLimiter(limits)
  const release = there.acquire('client')!
  there.share()
  there.acquire('client')
  here.setCountsOf(2, there.takeChanges())

  assert.notEqual(here.acquire('client'), undefined)
  assert.equal(here.acquire('client'), undefined)
  assert.notEqual(here.acquire('another client'), undefined)
  release()
  here.setCountsOf(2, there.takeChanges())
  assert.notEqual(here.acquire('client'), undefined)
  assert.equal(here.acquire('client'), undefined)
  assert.deepEqual([here.has('client'), here.has('none')], [true, false])
  here.forgetCountsOf(2)
  assert.notEqual(here.acquire('client'), undefined)
  assert.deepEqual([there.takeChanges(), here.takeChanges()], [[], []])
})
