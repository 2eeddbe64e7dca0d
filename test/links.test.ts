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

/** The anchors of a document. */
function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)
  return new Set(Array.from(headings, ([, heading = '']) => anchorOf(heading)))
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
