import assert from 'node:assert/strict'
import { once } from 'node:events'
import { dlopen } from 'node:ffi'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { assertPrivateMembers, readMember } from '../../../../test/support/private-members.ts'
import { listen } from './listeners.ts'

test('the kernel accepts at most 32 KiB ahead of what a visitor reads', async (t) => {
  const server = createServer()
  t.after(() => server.close())
  const { port } = await listen(server, 'http', { host: '127.0.0.1', port: 0 })
  const accepted = once(server, 'connection')
  const client = connect(port, '127.0.0.1')
  t.after(() => client.destroy())

  const [socket] = (await accepted) as [Socket]

  const fd = readMember(socket, '_handle.fd')
  assertPrivateMembers('node', 'src/base/io/sockets/unsent-limit.ts')('_handle.fd', typeof fd === 'number')
  assert.equal(readUnsentLimit(Number(fd)), 32 * 1024)
})

/** The option TCP_NOTSENT_LOWAT of a connection. */
function readUnsentLimit(fd: number): number {
  const { functions } = dlopen(null, {
    getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  })
  const value = Buffer.alloc(4)
  const length = Buffer.from([value.length, 0, 0, 0])
  assert.equal(functions.getsockopt(fd, 6, 25, value, length), 0)
  return value.readInt32LE()
}
