import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApi } from '../../../../test/support/api.ts'

test('a destination whose URL the server would not call is rejected when it is written', async (t) => {
  const { call } = await startApi(t)
  const write = async (url: string, id?: string) => {
    const body = { target: { webhook: { url, secret: 'a long random secret' } } }
    const { status, body: answer } = await (id === undefined
      ? call('POST', '/event_destinations', { body })
      : call('PATCH', `/event_destinations/${id}`, { body }))
    return { status, field: answer.details?.field, message: answer.msg }
  }
  const { id } = await call.create('/event_destinations', {
    target: { webhook: { url: 'https://hooks.invalid/events', secret: 'a long random secret' } },
  })

  for (const url of [
    'http://192.168.1.20/events',
    'https://[::1]/',
    'http://localhost:3000',
    'https://10.0.0.1',
  ])
    for (const existing of [undefined, id]) {
      const { status, field, message } = await write(url, existing)
      assert.deepEqual([status, field], [400, 'target.webhook.url'], url)
      assert.match(message, /not on the public Internet.*--outbound-allow|https only|only on 443/, url)
    }

  assert.equal((await write('https://other.invalid', id)).status, 200)
})
