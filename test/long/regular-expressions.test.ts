import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkExpression } from '../support/check-expression.ts'

const list = join(import.meta.dirname, '..', 'regular-expressions.proven.json')

test('every expression that the suite takes as proven takes linear time', async () => {
  const proven: string[] = JSON.parse(await readFile(list, 'utf8'))

  assert.deepEqual(
    proven.filter((literal) => checkExpression(literal) !== 'safe'),
    [],
  )
})
