import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

interface PromiseRow {
  readonly number: number
  readonly tests: readonly string[]
  readonly reason: string
}

async function readPromises(): Promise<PromiseRow[]> {
  const text = await readFile(join(root, 'docs', 'promises.md'), 'utf8')
  return [...text.matchAll(/^\| P(\d+) \|.*$/gm)].map((row) => {
    const [, , , testCell = '', reason = ''] = row[0].split('|')
    return {
      number: Number(row[1]),
      tests: [...testCell.matchAll(/`([^`]+)`/g)].map(([, file]) => file!),
      reason: reason.trim(),
    }
  })
}

test('every promise has one row, with existing tests or the reason why there are none', async () => {
  const rows = await readPromises()

  assert.deepEqual(
    rows.map(({ number }) => number),
    Array.from({ length: 61 }, (_, index) => index + 1),
  )
  for (const { number, tests, reason } of rows) {
    assert.ok(tests.length > 0 || reason !== '', `P${number} says neither what shows it nor why nothing does`)
    for (const file of tests) assert.ok(existsSync(join(root, file)), `P${number} names ${file}`)
  }
})

test('every promise cited in code, tests or documents exists', async () => {
  const numbers = new Set((await readPromises()).map(({ number }) => number))
  let cited = 0
  for await (const file of glob(['{src,test,bench,scripts}/**/*.{ts,tsx}', '*.md', 'docs/*.md'], {
    cwd: root,
  })) {
    const text = await readFile(join(root, file), 'utf8')
    // Cited in parentheses or with a colon; other uses of P and a number are unrelated.
    for (const [, list] of text.matchAll(/\((P\d+(?:(?:, |-| and )P\d+)*)\)|\bP\d+:/g))
      for (const [, number] of (list ?? '').matchAll(/P(\d+)/g)) {
        cited += 1
        assert.ok(numbers.has(Number(number)), `${file} cites P${number}`)
      }
  }
  assert.ok(cited > 50, `only ${cited} were found, so this proves nothing`)
})
