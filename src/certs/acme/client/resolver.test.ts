import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { type Answer, decode, encode } from 'dns-packet'
import { createResolver, ResolverError } from './resolver.ts'

const NXDOMAIN = 3
const SERVFAIL = 2

/** A resolver with a few records, by `name type`. */
async function startDns(t: TestContext, records: Record<string, Answer[] | number>): Promise<string> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  socket.on('message', (message, from) => {
    const { id, questions } = decode(message)
    const question = questions![0]!
    const result = records[`${question.name.toLowerCase()} ${question.type}`] ?? []
    const flags = typeof result === 'number' ? result : 0
    const reply = encode({
      type: 'response',
      id: id!,
      flags: flags | 0x0180,
      questions: questions!,
      answers: typeof result === 'number' ? [] : result,
    })
    socket.send(reply, from.port, from.address)
  })
  return `127.0.0.1:${socket.address().port}`
}

test('records are plain lists, absence is an empty list', async (t) => {
  const server = await startDns(t, {
    'a.example A': [{ name: 'a.example', type: 'A', ttl: 1, data: '192.0.2.1' }],
    'a.example AAAA': [{ name: 'a.example', type: 'AAAA', ttl: 1, data: '2001:db8::1' }],
    'b.example CNAME': [{ name: 'b.example', type: 'CNAME', ttl: 1, data: 'A.Example' }],
    't.example TXT': [{ name: 't.example', type: 'TXT', ttl: 1, data: ['one ', 'piece'] }],
    'gone.example CNAME': NXDOMAIN,
  })
  const resolver = createResolver([server])

  assert.deepEqual(await resolver.addresses('a.example'), ['192.0.2.1', '2001:db8::1'])
  assert.deepEqual(await resolver.cname('b.example'), ['a.example'])
  assert.deepEqual(await resolver.txt('t.example'), ['one piece'])
  assert.deepEqual(await resolver.ns('a.example'), [])
  assert.deepEqual(await resolver.cname('gone.example'), [])
})

test('failing name servers are distinguished from an unreachable resolver', async (t) => {
  const failing = await startDns(t, { 'x.example NS': SERVFAIL })

  const isError = (source: string) => (error: unknown) =>
    error instanceof ResolverError && error.source === source
  await assert.rejects(createResolver([failing]).ns('x.example'), isError('domain'))
  await assert.rejects(createResolver(['127.0.0.1:1']).ns('x.example'), isError('resolver'))
})
