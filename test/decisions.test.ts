import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const frontPage = await readFile(join(root, 'docs/decisions.md'), 'utf8')

interface Entry {
  readonly number: number
  /** Its theme, such as `edge.md`. */
  readonly file: string
  /** Another decision has replaced it. */
  readonly isStruck: boolean
}

const entries: Entry[] = []
for await (const file of glob('*.md', { cwd: join(root, 'docs/decisions') }))
  for (const [, anchor, strike, number] of (
    await readFile(join(root, 'docs/decisions', file), 'utf8')
  ).matchAll(/^<a id="(\d+)"><\/a>(~~)?\*\*(\d+)\. /gm)) {
    assert.equal(anchor, number, `the anchor of decision ${number}`)
    entries.push({ number: Number(number), file, isStruck: strike !== undefined })
  }
entries.sort((a, b) => a.number - b.number)

test('decisions are numbered without gaps, each number once', () => {
  assert.deepEqual(
    entries.map(({ number }) => number),
    entries.map((_, index) => index + 1),
  )
})

test('the index leads from every number to its entry', () => {
  const cells = frontPage.matchAll(/ (~~)?\[(\d+)\]\(decisions\/([\w-]+\.md)#(\d+)\)(?:~~)? (?=\|)/g)
  const listed = Array.from(cells, ([, strike, number, file, anchor]) => {
    assert.equal(anchor, number, `the link of decision ${number}`)
    return { number: Number(number), file, isStruck: strike !== undefined }
  })

  assert.deepEqual(listed, entries)
})

test('every theme is in the list of themes', () => {
  const themes = Array.from(
    frontPage.matchAll(/^\| \[.+\]\(decisions\/([\w-]+\.md)\) \|/gm),
    ([, file]) => file,
  )

  assert.deepEqual(themes.toSorted(), [...new Set(entries.map(({ file }) => file))].toSorted())
})

test('every decision that code and documents cite exists, and none has been replaced', async () => {
  const wrong: string[] = []
  let citations = 0
  for await (const file of glob(['*.md', '{src,test,docs,bench,scripts}/**/*.{ts,tsx,md}'], { cwd: root }))
    for (const [citation] of (await readFile(join(root, file), 'utf8')).matchAll(
      /\b[Dd]ecisions? \[?\d+(?:\]\([^)]+\))?(?:(?:, | and | to )\[?\d+(?:\]\([^)]+\))?)*/g,
    ))
      for (const [, number] of citation.matchAll(/(?:^|[ [])(\d+)/g)) {
        citations++
        const entry = entries[Number(number) - 1]
        if (entry === undefined || entry.isStruck) wrong.push(`${file}: ${number}`)
      }

  assert.deepEqual(wrong, [])
  assert.ok(citations > 150, 'the scan found few citations, so it proves little')
})
