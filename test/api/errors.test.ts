import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { catalogue } from '../../src/api/problems.ts'
import { edgeErrorKinds } from '../../src/edge/errors.ts'

const document = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'errors.md'), 'utf8')
const rows = [...document.matchAll(/^\| `ERR_ADIT_(\d+)` \| (\d+) \| (.+) \| (.+) \|$/gm)].map(
  ([, code, status, cause, next]) => ({ code: Number(code), status: Number(status), cause, next }),
)
const catalogued = [...Object.entries(catalogue), ...Object.entries(edgeErrorKinds)].map(
  ([name, { code, status }]) => ({ name, code, status }),
)

test('every error code is documented with its status, a cause and a next step', () => {
  for (const { name, code, status } of catalogued) {
    const row = rows.find((each) => each.code === code)
    assert.ok(row, `${name}: ERR_ADIT_${code} is not in docs/errors.md`)
    assert.equal(row.status, status, `${name}: ERR_ADIT_${code}`)
    assert.ok(row.cause!.length > 10 && row.next!.length > 5, name)
  }
})

test('every documented error code exists exactly once', () => {
  const codes = rows.map(({ code }) => code)

  assert.equal(new Set(codes).size, codes.length)
  for (const code of codes)
    assert.ok(
      catalogued.some((each) => each.code === code),
      `ERR_ADIT_${code} is documented and nothing answers it`,
    )
})

test('an error code has one meaning', () => {
  const names = new Map<number, string>()
  for (const { name, code } of catalogued) {
    assert.equal(names.get(code), undefined, `${name} and ${names.get(code)} are both ERR_ADIT_${code}`)
    names.set(code, name)
  }
})

test('every error message is a complete sentence', () => {
  for (const [name, { text }] of Object.entries(catalogue)) {
    const sentence = (text as (...args: string[]) => string)('Fact one.', 'fact two', 'fact three')
    assert.match(sentence, /^\S.*[.:…]$/s, name)
  }
})
