import { posix } from 'node:path'
import MarkdownIt from 'markdown-it'

/** A page of the site. */
export interface PageEntry {
  /** Its name in the contents. */
  readonly name: string
  /** The document in the repository. */
  readonly file: string
  readonly url: string
}

/** A heading of the contents with its pages. */
export interface ContentsSection {
  readonly name: string
  readonly pages: readonly PageEntry[]
}

/** The document that lists all others. It is also the start page. */
export const START = 'docs/README.md'

/** Reads the table of contents from the start page: a section for each heading, a page for each list item that is a link. */
export function readContents(source: string): ContentsSection[] {
  const contents: { name: string; pages: PageEntry[] }[] = []
  const tokens = new MarkdownIt().parse(source, {})
  for (const [index, token] of tokens.entries()) {
    const previous = tokens[index - 1]
    if (token.type !== 'inline') continue
    if (previous?.tag === 'h2') contents.push({ name: token.content, pages: [] })
    if (tokens[index - 2]?.type !== 'list_item_open') continue
    const children = token.children ?? []
    const target = children[0]?.type === 'link_open' ? children[0].attrGet('href') : null
    if (target === null) continue
    const file = posix.join(posix.dirname(START), String(target))
    const end = children.findIndex(({ type }) => type === 'link_close')
    const name = children.slice(1, end).map(({ content }) => content)
    contents.at(-1)!.pages.push({ name: name.join(''), file, url: urlOf(file) })
  }
  return contents
}

/** `/docs/guides/ssh` of `docs/guides/ssh.md`, `/docs/guides` of `docs/guides/index.md`. */
export function urlOf(file: string): string {
  if (file === START) return '/docs/'
  const path = file.replace(/^docs\//, '').replace(/\.md$/, '')
  return `/docs/${path.replace(/\/index$/, '').toLowerCase()}`
}
