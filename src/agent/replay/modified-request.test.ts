import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BufferPool } from '../../base/io/memory/buffer-pool.ts'
import { Copier } from '../inspector/copier.ts'
import { BLOCK_BYTES, MessageCopy } from '../inspector/message-copy.ts'
import { applyChanges, ChangeError, type RequestChanges, replayProblem } from './modified-request.ts'

function createMessage(head: string, body = '', exact = true): MessageCopy {
  const message = new MessageCopy(Buffer.from(head.replaceAll('\n', '\r\n'), 'latin1'), exact, new Copier())
  if (body !== '') message.add(Buffer.from(body), new BufferPool(1, BLOCK_BYTES), new Copier())
  return message
}

const CHUNKED = createMessage(
  'POST /a?b HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\nX-A: 1\nX-A: 2\n\n',
  '2\r\nhi\r\n0\r\n\r\n',
)

const CASES: readonly [name: string, changes: RequestChanges, expected: string][] = [
  ['nothing', {}, 'POST /a?b HTTP/1.1\nHost: x\nX-A: 1\nX-A: 2\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n'],
  [
    'method and path',
    { method: 'PUT', path: '/c?d=%20' },
    'PUT /c?d=%20 HTTP/1.1\nHost: x\nX-A: 1\nX-A: 2\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n',
  ],
  [
    'the body, framed by its length',
    { body: Buffer.from('grüße') },
    'POST /a?b HTTP/1.1\nHost: x\nX-A: 1\nX-A: 2\nContent-Length: 7\n\ngrüße',
  ],
  [
    'some headers, at their positions',
    { headers: { 'x-a': '3', host: null, 'X-New': ['4', '5'] } },
    'POST /a?b HTTP/1.1\nx-a: 3\nX-New: 4\nX-New: 5\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n',
  ],
  [
    'all headers except framing',
    {
      headers: [
        ['A', '1'],
        ['Content-Length', '99'],
        ['transfer-encoding', 'gzip'],
      ],
      body: Buffer.from('x'),
    },
    'POST /a?b HTTP/1.1\nA: 1\nContent-Length: 1\n\nx',
  ],
  [
    'no body',
    { method: 'GET', body: Buffer.alloc(0), headers: [['Host', 'y']] },
    'GET /a?b HTTP/1.1\nHost: y\n\n',
  ],
  ['no body of a POST', { body: Buffer.alloc(0), headers: [] }, 'POST /a?b HTTP/1.1\nContent-Length: 0\n\n'],
]

for (const [name, changes, expected] of CASES) {
  test(`changes are applied to a request: ${name}`, () => {
    const bytes = applyChanges(CHUNKED, changes)

    assert.equal(bytes.toString(), expected.replaceAll('\n', '\r\n'))
  })
}

test('changes cannot create a second request or an invalid one', () => {
  for (const changes of [
    { method: 'GET /x HTTP/1.1\r\nA: b\r\n\r\nGET' },
    { method: '' },
    { method: 'CONNECT' },
    { path: 'x' },
    { path: '/a b' },
    { path: '/ü' },
    { path: '/\r\nA: b' },
    { headers: [['A', 'b\r\nC: d']] },
    { headers: [['A b', 'c']] },
    { headers: { 'A\r\nB': 'c' } },
    { headers: { A: 'ł' } },
    { headers: { A: 'x'.repeat(70_000) } },
  ] as RequestChanges[]) {
    assert.throws(() => applyChanges(CHUNKED, changes), ChangeError, JSON.stringify(changes).slice(0, 100))
  }
})

test('missing parts of a capture have to be replaced by the changes', () => {
  const truncated = createMessage('POST / HTTP/1.1\n\n', 'beginning')
  truncated.truncated = true
  const redacted = createMessage('POST / HTTP/1.1\nAuthorization: [redacted]\n\n', '', false)

  assert.match(replayProblem(truncated) ?? '', /only the beginning/)
  assert.match(replayProblem(truncated, { path: '/x' }) ?? '', /only the beginning/)
  assert.equal(replayProblem(truncated, { body: Buffer.from('all') }), undefined)
  assert.match(replayProblem(redacted, { headers: { A: 'b' } }) ?? '', /redacted/)
  assert.equal(replayProblem(redacted, { headers: [['Authorization', 'mine']] }), undefined)
})
