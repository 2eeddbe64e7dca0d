import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { acceptPending } from './accept-pending.ts'

test('connections that wait to be accepted when a listener closes are served', async (t) => {
  const server = createServer((socket) => socket.end('served'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  // The kernel completes these without the listener.
  const clients = Array.from({ length: 50 }, () => connect(port, '127.0.0.1').setEncoding('utf8'))
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  const answers = clients.map(async (client) => (await once(client, 'data'))[0])

  await acceptPending([server])
  server.close()

  assert.deepEqual(await Promise.all(answers), Array(50).fill('served'))
})

test('a listener whose clients never stop connecting can be closed', async (t) => {
  const server = createServer((socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let isOver = false
  const connectAgain = () => {
    if (!isOver)
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .on('close', connectAgain)
  }
  t.after(() => {
    isOver = true
  })
  for (let client = 0; client < 20; client++) connectAgain()

  await acceptPending([server])

  server.close()
})
