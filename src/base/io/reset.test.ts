import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { resetSocket } from './reset.ts'

/** Both ends of a connection. */
async function pair(t: TestContext, path?: string) {
  const server = createServer()
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  const place = path === undefined ? { port: (server.address() as AddressInfo).port } : { path }
  const near = connect(place)
  const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [
    [Socket],
    unknown,
  ]
  const seen = { error: '', closed: false }
  far.on('error', (error: NodeJS.ErrnoException) => {
    seen.error = error.code ?? ''
  })
  const over = new Promise<void>((resolve) => {
    far.resume().on('close', () => {
      seen.closed = true
      resolve()
    })
  })
  near.on('error', () => {})
  t.after(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return { near, seen, over }
}

test('the peer of a TCP connection sees an error', async (t) => {
  const { near, seen, over } = await pair(t)

  resetSocket(near)

  await over
  assert.deepEqual([seen.error, near.destroyed], ['ECONNRESET', true])
})

test('what cannot be reset is ended: TLS around a connection, and a local pipe', async (t) => {
  const tcp = await pair(t)
  const secure = connectTls({ socket: tcp.near })
  secure.on('error', () => {})
  const dir = mkdtempSync(join(tmpdir(), 'adit-reset-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const pipe = await pair(t, join(dir, 'socket'))

  resetSocket(secure)
  resetSocket(pipe.near)

  await Promise.all([tcp.over, pipe.over])
  assert.deepEqual([secure.destroyed, pipe.near.destroyed], [true, true])
})

test('with the stream around it both are over', async (t) => {
  const { near, seen, over } = await pair(t)
  const secure = connectTls({ socket: near })
  secure.on('error', () => {})

  resetSocket(near, secure)

  await over
  assert.deepEqual([seen.error, near.destroyed, secure.destroyed], ['ECONNRESET', true, true])
})
