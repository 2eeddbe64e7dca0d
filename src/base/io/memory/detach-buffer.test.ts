import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { eventually } from '../../../../test/support/eventually.ts'
import { assertPrivateMembers } from '../../../../test/support/private-members.ts'
import { createTestCa } from '../../../../test/support/test-ca.ts'
import { detachBackingStore, detachBuffer } from './detach-buffer.ts'

const assertMember = assertPrivateMembers('node', 'src/base/io/memory/detach-buffer.ts')

test('a large chunk that spans its backing store is detached', () => {
  const chunk = Buffer.from(new ArrayBuffer(65_536))

  detachBuffer(chunk)

  assert.equal(chunk.length, 0)
})

test('a chunk that shares its memory, or is small, stays as it is', () => {
  const block = Buffer.from(new ArrayBuffer(65_536))
  const [shared, small] = [block.subarray(0, 32_768), Buffer.alloc(100)]

  detachBuffer(shared)
  detachBuffer(small)

  assert.equal(block.length, 65_536)
  assert.equal(small.length, 100)
})

test('a backing store that one chunk nearly fills is detached, a shared one is not', () => {
  const [exclusive, shared] = [Buffer.from(new ArrayBuffer(32_768)), Buffer.from(new ArrayBuffer(65_536))]

  detachBackingStore(exclusive.subarray(10, 32_000))
  detachBackingStore(shared.subarray(0, 32_768))

  assert.equal(exclusive.length, 0)
  assert.equal(shared.length, 65_536)
})

test('a chunk of the pool that Node shares among small buffers is never detached', () => {
  const half = Buffer.allocUnsafe((Buffer.poolSize >>> 1) - 1)
  const neighbour = Buffer.from('neighbour')

  detachBuffer(half)
  detachBackingStore(half)

  assertMember('Buffer.allocUnsafe, whose pool', neighbour.toString() === 'neighbour' && half.length > 0)
})

for (const kind of ['TCP', 'TLS'] as const)
  test(`memory that a ${kind} socket has read into can be detached without harm to what other sockets read`, async (t) => {
    const { open } = await startPairs(t, kind)
    const [bulk, neighbour] = [await open(), await open()]
    const received: Buffer[] = []
    let bulkBytes = 0
    let isIntact = true
    bulk.reader.on('data', (chunk: Buffer) => {
      isIntact &&= chunk.length > 0 && chunk.every((byte) => byte === 1)
      bulkBytes += chunk.length
      detachBuffer(chunk)
    })
    // Keeps its chunks, as a paused socket does; Node packs small reads of several sockets into one block.
    neighbour.reader.on('data', (chunk: Buffer) => received.push(chunk))

    const block = Buffer.alloc(1024 * 1024, 1)
    for (let round = 1; round <= 8; round++) {
      neighbour.writer.write(Buffer.alloc(1000, 2))
      bulk.writer.write(block)
      await eventually(() => bulkBytes === round * block.length, 'the bulk transfer')
      await eventually(() => lengthOf(received) === round * 1000, 'the neighbour')
    }

    assertMember(`the read buffer of a ${kind} socket`, isIntact)
    const isNeighbourIntact = Buffer.concat(received).every((byte) => byte === 2)
    assertMember(`the read buffer that ${kind} sockets share`, isNeighbourIntact)
  })

function lengthOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0)
}

/** Opens connections to one server: `writer` at the client, `reader` at the server. */
async function startPairs(t: TestContext, kind: 'TCP' | 'TLS') {
  const ca = await createTestCa()
  const server = kind === 'TCP' ? createServer() : createTlsServer(await ca.issue('localhost'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<{ writer: Socket; reader: Socket }> => {
    const accepted = once(server, kind === 'TCP' ? 'connection' : 'secureConnection')
    const options = { port, host: '127.0.0.1' }
    const writer = kind === 'TCP' ? connect(options) : connectTls({ ...options, rejectUnauthorized: false })
    const [reader] = (await accepted) as [Socket]
    for (const socket of [writer, reader]) {
      socket.on('error', () => {})
      t.after(() => socket.destroy())
    }
    return { writer, reader }
  }
  return { open }
}
