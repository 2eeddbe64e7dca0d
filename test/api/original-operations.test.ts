import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { routes } from '../../src/api/all-routes.ts'
import { ORIGINAL } from '../../src/api/compat/original.ts'

/** Paths of the original that are not served, with the reason. */
const LACKING: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^\/ai_gateway_api_keys/, 'keys of the hosted AI gateway, which is not part of the platform'],
]

const withIds = (path: string) => path.replace(/\{[a-z_]+\}/g, 'x')

/** The operations of the original, one a line. */
const operations = readFileSync(new URL('original-operations.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(' ') as [method: string, path: string])
const served = new Set(routes.map(({ method, path }) => `${method} ${withIds(path)}`))

test('every operation of the original is served, or is known to be lacking', () => {
  const missing = operations.filter(
    ([method, path]) => !served.has(`${method} ${ORIGINAL.readUrl(withIds(path))}`),
  )

  for (const [method, path] of missing)
    assert.ok(
      LACKING.some(([pattern]) => pattern.test(withIds(path))),
      `${method} ${path} is not served`,
    )
  for (const [pattern] of LACKING)
    assert.ok(
      missing.some(([, path]) => pattern.test(withIds(path))),
      `${pattern} lacks nothing any more`,
    )
})
