import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { anchorOf } from '../scripts/docs/anchor.ts'

const root = join(import.meta.dirname, '..')
const documents = ['*.md', 'docs/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root }))

/** The text without code, in which brackets are no links. */
const withoutCode = (markdown: string) =>
  markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, 'x')

/** The anchors of a document: its headings, and those that it sets itself. */
function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)
  const own = markdown.matchAll(/<a id="([^"]+)">/g)
  return new Set([
    ...Array.from(headings, ([, heading = '']) => anchorOf(heading)),
    ...Array.from(own, ([, id = '']) => id),
  ])
}

test('every link between documents leads to a file and a heading that exist', () => {
  const broken = documents.flatMap((document) => {
    const links = withoutCode(readFileSync(join(root, document), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)
    return Array.from(links, ([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#')
        const file = path === '' ? document : relative(root, join(root, dirname(document), path))
        try {
          const text = readFileSync(join(root, file), 'utf8')
          return anchor !== undefined && !anchorsOf(text).has(anchor)
        } catch {
          return globSync(file, { cwd: root }).length === 0
        }
      })
      .map((target) => `${document}: ${target}`)
  })

  assert.ok(documents.length > 20)
  assert.deepEqual(broken, [])
})

/** The documents that say where things are in the source. */
const MAPS = [
  'docs/architecture.md',
  'docs/promises.md',
  'docs/test-suites.md',
  'CONTRIBUTING.md',
  ...globSync('docs/decisions/*.md', { cwd: root }),
]

test('every source file and function that a document names exists', () => {
  const sources = globSync('{src,test,scripts,bench,deploy}/**/*.{ts,tsx}', { cwd: root })
  const find = (name: string) => sources.filter((file) => `/${file}`.endsWith(`/${name}`))
  const missing: string[] = []
  let count = 0
  for (const document of MAPS) {
    const text = readFileSync(join(root, document), 'utf8')
    for (const [name] of text.matchAll(/[\w./-]+\.tsx?\b/g)) {
      count++
      if (find(name).length === 0) missing.push(`${document}: ${name}`)
    }
    for (const [, name, file = ''] of text.matchAll(/`(\w+)\(\)` in `([\w./-]+)`/g)) {
      const declares = (path: string) =>
        new RegExp(`^ *(export )?(async )?(function )?#?${name}[(<]`, 'm').test(
          readFileSync(join(root, path), 'utf8'),
        )
      if (!find(file).some(declares)) missing.push(`${document}: ${name}() in ${file}`)
    }
  }

  assert.deepEqual(missing, [])
  assert.ok(count > 100, 'the scan found few files, so it proves little')
})
