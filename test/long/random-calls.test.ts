import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTests } from '../support/run-tests.ts'

const FACTOR = process.env.CALLS_FACTOR ?? '25'

test(`${FACTOR} times the random calls of \`npm test\` never fail with a 5xx and match the OpenAPI document (P57)`, async (t) => {
  const { code, output } = await runTests(['test/api/random-calls.test.ts'], { CALLS_FACTOR: FACTOR })

  for (const [, seed] of output.matchAll(/seed[ =](\d+)/gi)) t.diagnostic(`SEED=${seed}`)
  assert.equal(code, 0, output)
  assert.match(output, /pass [1-9]/)
})
