import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { startApi } from '../../../test/support/api.ts'

/** Reads until the connection ends. */
async function readAll(client: Socket): Promise<string> {
  let text = ''
  for await (const chunk of client.setEncoding('utf8')) text += chunk
  return text
}

test('calls whose connections have not been accepted when the API stops are answered', async (t) => {
  const { url, close } = await startApi(t)
  const clients = Array.from({ length: 50 }, () => connect(Number(new URL(url).port), '127.0.0.1'))
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  const responses = clients.map(readAll)
  for (const client of clients) client.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

  await close()

  for (const response of await Promise.all(responses)) assert.match(response, /^HTTP\/1\.1 200 /)
})

test('a call that changes something waits until it is applied; one that reads or is rejected does not', async (t) => {
  let waits = 0
  const { call } = await startApi(t, { applied: async () => void waits++ })

  const { body } = await call('POST', '/ip_policies', { body: {} })
  await call('PATCH', `/ip_policies/${body.id}`, { body: { description: 'x' } })
  assert.equal(waits, 2)

  await call('GET', '/ip_policies')
  await call('POST', '/ip_policies', { body: {}, key: 'unknown' })
  await call('POST', '/ip_policies', { body: { unknown: 1 } })
  await call('DELETE', '/nothing')
  assert.equal(waits, 2)
})
