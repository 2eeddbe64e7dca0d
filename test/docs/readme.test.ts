import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const MAX_PICTURE_BYTES = 300_000

test('the benchmarks of the README are those of docs/benchmarks.md', () => {
  const measured = readFileSync(join(root, 'docs', 'benchmarks.md'), 'utf8')
  const [, section = ''] = /^## Fast enough\n([\s\S]+?)^## /m.exec(readme) ?? []
  const rows = section.split('\n').filter((line) => /^\| .*\d \|$|^\| .*KiB \|$|^\| .*ms \|$/.test(line))
  const numbers = rows.flatMap((row) =>
    row
      .split('|')
      .slice(2)
      .flatMap((cell) => cell.match(/\d[\d,.]*/g) ?? [])
      .map((number) => number.replaceAll(',', '')),
  )

  assert.ok(numbers.length > 12)
  assert.deepEqual(
    numbers.filter((number) => !measured.includes(` ${number}`)),
    [],
    'run `npm run bench:tunnel -- --write`, then copy the numbers',
  )
})

test('every picture is small, and there is one for each theme', () => {
  const pictures = globSync('docs/images/*', { cwd: root })
  const used = Array.from(readme.matchAll(/docs\/images\/[\w-]+\.png/g), ([name]) => name)

  assert.ok(used.length >= 6)
  assert.deepEqual(
    used.filter((name) => !pictures.includes(name)),
    [],
  )
  for (const picture of pictures) {
    assert.ok(statSync(join(root, picture)).size <= MAX_PICTURE_BYTES, `${picture} is too large`)
    assert.match(picture, /-(?:light|dark)\.png$/)
    const other = picture.replace(/light|dark/, (theme) => (theme === 'light' ? 'dark' : 'light'))
    assert.ok(pictures.includes(other), `${other} is missing`)
  }
})
