import assert from 'node:assert/strict'
import type { Answer, TestApi } from './api.ts'

/** Insists that a call is refused in the one shape refusals have, and that nothing changed. */
export async function refused(
  api: TestApi,
  call: () => Promise<Answer>,
  expected: { status: number; field?: string; what: string },
): Promise<Answer> {
  const before = await api.store.revision()

  const answer = await call()

  const told = `${expected.what}: ${answer.status} ${JSON.stringify(answer.body)}`
  assert.equal(answer.status, expected.status, told)
  assert.deepEqual(Object.keys(answer.body), ['error_code', 'status_code', 'msg', 'details'], told)
  assert.equal(answer.body.status_code, expected.status, told)
  assert.match(answer.body.error_code, /^ERR_ADIT_\d+$/, told)
  assert.match(answer.body.details.operation_id, /^op_[0-9A-Za-z]{27}$/, told)
  for (const fact of Object.values(answer.body.details)) assert.equal(typeof fact, 'string', told)
  if (expected.field !== undefined) {
    assert.equal(answer.body.details.field, expected.field, told)
    assert.ok(answer.body.msg.includes(expected.field), told)
  }
  assert.equal(await api.store.revision(), before, `${told} changed something`)
  return answer
}
