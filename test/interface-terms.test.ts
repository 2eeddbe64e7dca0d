import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { listWords } from '../scripts/words/list.ts'

const root = join(import.meta.dirname, '..')

/** The words in the last column of the tables, each with the term to write instead. */
async function forbiddenWords(): Promise<[term: string, word: string][]> {
  const text = await readFile(join(root, 'docs', 'interface-terms.md'), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| '))
  return rows.flatMap((row) => {
    const cells = row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    const words = cells
      .at(-1)!
      .split(', ')
      .filter((word) => word !== '' && word !== 'Not')
    return words.map((word): [string, string] => [cells[0]!, word])
  })
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A guide without code, which has words of its own. */
function withoutCode(markdown: string): string {
  return markdown
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, '')
}

test('the pages and guides use the terms of docs/interface-terms.md', async () => {
  const words = await forbiddenWords()
  const texts = (await listWords()).map(({ source, sentences }) => ({ source, text: sentences.join('\n') }))
  for await (const file of glob('docs/guides/*.md', { cwd: root }))
    texts.push({ source: file, text: withoutCode(await readFile(join(root, file), 'utf8')) })

  const violations = texts.flatMap(({ source, text }) =>
    words.flatMap(([term, word]) => {
      const found = new RegExp(`(?<![\\w-])${escapeRegExp(word)}(?![\\w-]).*`, 'i').exec(text)
      return found ? [`${source}: write "${term}", not "${word}": …${found[0].slice(0, 60)}`] : []
    }),
  )

  assert.ok(words.length > 50)
  assert.deepEqual(violations, [])
})

test('the list of words has the texts of every page, and no code', async () => {
  const words = await listWords()
  const all = words.flatMap(({ sentences }) => sentences)

  for (const sentence of [
    'Request path',
    'Change backend',
    'No matches',
    'Waiting for operator',
    'In flight',
  ])
    assert.ok(
      all.some((each) => each.toLowerCase() === sentence.toLowerCase()),
      sentence,
    )
  for (const page of ['sign-in-page.tsx', 'overview-page.tsx', 'inspect-page.tsx', 'error-kinds.ts'])
    assert.ok(
      words.some(({ source }) => source.endsWith(page)),
      page,
    )
  assert.deepEqual(
    all.filter((sentence) => /[<>]{1}\/?(div|p|html)\b|=>|\bconst /.test(sentence)),
    [],
  )
})
