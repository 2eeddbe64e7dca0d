import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const text = await readFile(join(root, 'docs/decisions.md'), 'utf8')
const numbers = [...text.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))

test('decisions are numbered in order, without gaps', () => {
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  )
})

test('every decision belongs to one theme of the index', () => {
  const index = text.slice(0, text.indexOf('\n1. '))
  const listed = [...index.matchAll(/\| ([\d, to]+) \|$/gm)].flatMap(([, ranges]) =>
    ranges!.split(', ').flatMap((range) => {
      const [first, last = first] = range.split(' to ').map(Number)
      return Array.from({ length: last! - first! + 1 }, (_, offset) => first! + offset)
    }),
  )

  assert.deepEqual(
    listed.sort((a, b) => a - b),
    numbers,
  )
})

test('every decision that code and documents cite exists', async () => {
  const missing: string[] = []
  let citations = 0
  for await (const file of glob('{src,test,docs,bench,scripts}/**/*.{ts,tsx,md}', { cwd: root }))
    for (const [citation] of (await readFile(join(root, file), 'utf8')).matchAll(
      /\b[Dd]ecisions? \d+(?:(?:, | and | to )\d+)*/g,
    ))
      for (const [number] of citation.matchAll(/\d+/g)) {
        citations++
        if (!numbers.includes(Number(number))) missing.push(`${file}: ${number}`)
      }

  assert.deepEqual(missing, [])
  assert.ok(citations > 10, 'the scan found no citations, so it proves nothing')
})
