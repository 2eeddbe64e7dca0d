import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../../src/api/all-routes.ts'
import { newId } from '../../src/base/values/id.ts'
import { assertRejected } from '../support/assert-rejected.ts'
import { engines } from '../support/engines.ts'

const lists = routes.filter(({ id, path }) => id.endsWith('.list') && !path.includes('{'))
const invalidIds = [
  ...['%00', '%ff%fe', '%F0%9F%92%A9', "'%20OR%201=1--", '..%2f..%2fusers', '%2e%2e%2e', 'null', '-1', '*'],
  ...[`ipp_${'a'.repeat(26)}`, `ipp_${'a'.repeat(28)}`, `ipp_${'é'.repeat(27)}`, 'x'.repeat(8000)],
]

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: a forged cursor of any list is rejected, and never an internal error`, async (t) => {
    const api = await start(t)

    for (const { path } of lists)
      for (const cursor of [...invalidIds, newId('nosuch')])
        await assertRejected(api, () => api.call('GET', `${path}?before_id=${cursor}`), {
          status: 400,
          what: `${path} ${cursor.slice(0, 40)}`,
        })
  })

  test(`${engine}: a cursor is a position: of a deleted object, of another account or invented, it shows own objects alone`, async (t) => {
    const api = await start(t)
    const older = await api.call.create('/ip_policies', { description: 'older' })
    const deleted = await api.call.create('/ip_policies', {})
    const other = await api.callAsOther.create('/ip_policies', { description: 'other' })
    const newer = await api.call.create('/ip_policies', { description: 'newer' })
    await api.call('DELETE', `/ip_policies/${deleted.id}`)
    const list = async (cursor: string) =>
      (await api.call('GET', `/ip_policies?before_id=${cursor}`)).body.ip_policies.map(
        ({ id }: { id: string }) => id,
      )

    assert.deepEqual(await list(deleted.id), [older.id])
    assert.deepEqual(await list(other.id), [older.id])
    assert.deepEqual(await list(`ipp_${'z'.repeat(27)}`), [newer.id, older.id])
    assert.deepEqual(await list(`ipp_${'0'.repeat(27)}`), [])
  })

  test(`${engine}: an invalid id in a path is not found or malformed, and never an internal error`, async (t) => {
    const api = await start(t)
    const paths = routes.filter(({ method, path }) => method === 'GET' && path.includes('{'))

    for (const { path } of paths)
      for (const id of invalidIds) {
        const { status } = await api.call('GET', path.replaceAll(/\{[a-z_]+\}/g, id))
        assert.ok(status >= 400 && status < 500, `${path} ${id.slice(0, 40)}: ${status}`)
      }
  })
}
