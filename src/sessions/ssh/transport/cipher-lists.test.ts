import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCipherLists } from './cipher-lists.ts'

const LINE = Buffer.from('SSH-2.0-OpenSSH_9.2p1\r\n')

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A KEXINIT that starts with these lists. */
function packet(type: number, ...lists: readonly string[]): Buffer {
  const texts = lists.flatMap((list) => [number(list.length), Buffer.from(list)])
  const payload = Buffer.concat([Buffer.of(8, type), Buffer.alloc(16), ...texts, Buffer.alloc(3)])
  return Buffer.concat([number(payload.length), payload])
}

test('the ciphers of both directions are parsed after the identification string and the other lists', () => {
  const bytes = Buffer.concat([LINE, packet(20, 'curve25519-sha256', 'ssh-ed25519', 'a,b', 'c')])

  const lists = parseCipherLists(bytes)

  assert.deepEqual(lists, { toServer: ['a', 'b'], toClient: ['c'] })
})

test('every prefix is incomplete', () => {
  const bytes = Buffer.concat([LINE, packet(20, 'kex', 'key', 'a,b', 'c')])
  const decided = bytes.length - 3

  for (let length = 0; length < decided; length++)
    assert.equal(parseCipherLists(bytes.subarray(0, length)), 'incomplete', `${length} bytes`)
  assert.notEqual(parseCipherLists(bytes.subarray(0, decided)), 'incomplete')
})

test('other bytes have no lists', () => {
  const outside = Buffer.concat([
    number(64),
    Buffer.of(8, 20),
    Buffer.alloc(16),
    number(2 ** 31),
    Buffer.alloc(64),
  ])
  const cases: [what: string, bytes: Buffer][] = [
    ['a line without end', Buffer.alloc(255, 'x')],
    ['another message', Buffer.concat([LINE, packet(50, 'kex', 'key', 'a', 'b')])],
    ['too few lists', Buffer.concat([LINE, packet(20, 'kex', 'key', 'a'), Buffer.alloc(64)])],
    ['a list beyond the packet', Buffer.concat([LINE, outside])],
    ['a packet beyond all bounds', Buffer.concat([LINE, number(2 ** 32 - 1), Buffer.alloc(64, 20)])],
  ]

  for (const [what, bytes] of cases) assert.equal(parseCipherLists(bytes), undefined, what)
})
