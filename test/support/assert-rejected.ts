import assert from 'node:assert/strict'
import type { TestApi, TestResponse } from './api.ts'

/** Asserts that a call fails with a well-formed error and changes nothing. */
export async function assertRejected(
  api: TestApi,
  call: () => Promise<TestResponse>,
  expected: { status: number; field?: string; what: string },
): Promise<TestResponse> {
  const before = await api.store.revision()

  const response = await call()

  const summary = `${expected.what}: ${response.status} ${JSON.stringify(response.body)}`
  assert.equal(response.status, expected.status, summary)
  assert.deepEqual(Object.keys(response.body), ['error_code', 'status_code', 'msg', 'details'], summary)
  assert.equal(response.body.status_code, expected.status, summary)
  assert.match(response.body.error_code, /^ERR_ADIT_\d+$/, summary)
  assert.match(response.body.details.operation_id, /^op_[0-9A-Za-z]{27}$/, summary)
  for (const detail of Object.values(response.body.details)) assert.equal(typeof detail, 'string', summary)
  if (expected.field !== undefined) {
    assert.equal(response.body.details.field, expected.field, summary)
    assert.ok(response.body.msg.includes(expected.field), summary)
  }
  assert.equal(await api.store.revision(), before, `${summary} changed something`)
  return response
}
