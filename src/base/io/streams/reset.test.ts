import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { createTempDir } from '../../../../test/support/temp-dir.ts'
import { resetSocket } from './reset.ts'

/** Both ends of a connection. */
async function connectPair(t: TestContext, path?: string) {
  const server = createServer()
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  const address = path === undefined ? { port: (server.address() as AddressInfo).port } : { path }
  const local = connect(address)
  const [[remote]] = (await Promise.all([once(server, 'connection'), once(local, 'connect')])) as [
    [Socket],
    unknown,
  ]
  const state = { error: '', isClosed: false }
  remote.on('error', (error: NodeJS.ErrnoException) => {
    state.error = error.code ?? ''
  })
  const closed = new Promise<void>((resolve) => {
    remote.resume().on('close', () => {
      state.isClosed = true
      resolve()
    })
  })
  local.on('error', () => {})
  t.after(() => {
    local.destroy()
    remote.destroy()
    server.close()
  })
  return { local, state, closed }
}

test('the peer of a TCP connection sees an error', async (t) => {
  const { local, state, closed } = await connectPair(t)

  resetSocket(local)

  await closed
  assert.deepEqual([state.error, local.destroyed], ['ECONNRESET', true])
})

test('connections without resets are destroyed: TLS and a Unix socket', async (t) => {
  const tcp = await connectPair(t)
  const secure = connectTls({ socket: tcp.local })
  secure.on('error', () => {})
  const dir = createTempDir()
  const pipe = await connectPair(t, join(dir, 'socket'))

  resetSocket(secure)
  resetSocket(pipe.local)

  await Promise.all([tcp.closed, pipe.closed])
  assert.deepEqual([secure.destroyed, pipe.local.destroyed], [true, true])
})

test('a reset with the stream around the transport closes both', async (t) => {
  const { local, state, closed } = await connectPair(t)
  const secure = connectTls({ socket: local })
  secure.on('error', () => {})

  resetSocket(local, secure)

  await closed
  assert.deepEqual([state.error, local.destroyed, secure.destroyed], ['ECONNRESET', true, true])
})
