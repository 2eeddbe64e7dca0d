import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../../src/api/all-routes.ts'
import { assertRejected } from '../support/assert-rejected.ts'
import { engines } from '../support/engines.ts'
import { createOnline } from '../support/online.ts'
import { createBody, PathParameters } from '../support/sample-objects.ts'
import type { Body } from '../support/samples.ts'
import { recordVisitor } from '../support/visitors.ts'

/** Yields a copy of the body for each string in it with U+0000 appended, and one for each key. */
function* injectNul(
  value: unknown,
  rebuild: (changed: unknown) => unknown = (changed) => changed,
): Generator<unknown> {
  if (typeof value === 'string') yield rebuild(`${value}\0`)
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const entries = Object.entries(value).filter(([name]) => name !== key)
    const withValue = (changed: unknown, name = key) =>
      rebuild(
        Array.isArray(value)
          ? value.map((item, index) => (String(index) === key ? changed : item))
          : Object.fromEntries([...entries, [name, changed]]),
      )
    yield* injectNul(inner, withValue)
    if (!Array.isArray(value)) yield withValue(inner, `${key}\0`)
  }
}

for (const engine of Object.keys(engines))
  test(`U+0000 is rejected in every string, key, id and parameter, on ${engine}`, async (t) => {
    const online = createOnline()
    const api = await engines[engine]!(t, { online, dashboard: true })
    const pathParameters = new PathParameters(
      api.call,
      online.putOnline(api.account.accountId, api.url),
      () => recordVisitor(api),
    )
    let attempts = 0

    for (const route of routes) {
      const path = await pathParameters.resolvePath(route)
      const title = `${route.method} ${path}`
      const body = { description: 'text', ...(await createBody(route, api.call)) } as Body
      if (route.body !== undefined)
        for (const invalidBody of injectNul(body)) {
          attempts++
          await assertRejected(api, () => api.call(route.method, path, { body: invalidBody }), {
            status: 400,
            what: `${title} ${JSON.stringify(invalidBody)}`,
          })
        }
      const send = route.body === undefined ? {} : { body }
      for (const address of [`${path}%00`, `${path}?limit=1%00`, `${path}?before_id=%00`])
        await assertRejected(api, () => api.call(route.method, address, send), { status: 400, what: address })
    }

    assert.ok(attempts > 500, `${attempts} bodies`)
    const response = await api.call('POST', '/ip_policies', { body: { metadata: 'a\0b' } })
    assert.deepEqual([response.status, response.body.details.field], [400, 'metadata'])
    const signIn = { body: { email: 'a\0@example.com', password: 'x' } }
    assert.equal((await api.call('POST', '/dashboard/api/session', signIn)).status, 400)
    assert.equal((await api.call.create('/ip_policies', { metadata: '\\u0000' })).metadata, '\\u0000')
  })
