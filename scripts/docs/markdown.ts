import { posix } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import { anchorOf } from './anchor.ts'

const COMMENT = /<!--[\s\S]*?-->\n?/g
const HTML_TARGET = /\b(href|src|srcset)="([^"]+)"/g
const ERROR_CODE = /^ERR_ADIT_\d+$/

/** A heading with the text below it, up to the next one: what a search finds. */
export interface Section {
  readonly level: number
  readonly heading: string
  readonly anchor: string
  readonly text: string
}

/** A document as the site shows it. */
export interface RenderedDocument {
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
}

/** Where the site serves a file of the repository; undefined for files that it does not serve. */
export type Locate = (file: string) => string | undefined

/** Renders a document of the repository; `file` is its path there, from which its links are resolved. */
export function renderDocument(
  file: string,
  source: string,
  { locate, errorCodes }: { locate: Locate; errorCodes: ReadonlySet<string> },
): RenderedDocument {
  const markdown = new MarkdownIt({ html: true, linkify: false })
  // Comments are instructions for the programs that run or generate a document.
  const tokens = markdown.parse(source.replace(COMMENT, ''), {})
  const sections: { level: number; heading: string; anchor: string; text: string }[] = []
  const anchors = new Map<string, number>()
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = textOf(tokens[index + 1]!)
      const anchor = uniqueAnchor(anchors, anchorOf(heading))
      token.attrSet('id', anchor)
      sections.push({ level: Number(token.tag.slice(1)), heading, anchor, text: '' })
    } else if (tokens[index - 1]?.type !== 'heading_open' && ['inline', 'fence'].includes(token.type)) {
      const section = sections.at(-1)
      if (section) section.text += `${textOf(token)} `
    }
    for (const child of [token, ...(token.children ?? [])]) {
      if (child.type.startsWith('html_'))
        child.content = child.content.replace(
          HTML_TARGET,
          (_attribute, name: string, target: string) => `${name}="${resolveTarget(file, target, locate)}"`,
        )
      const name = child.type === 'image' ? 'src' : child.type === 'link_open' ? 'href' : undefined
      const target = name && child.attrGet(name)
      if (name && target) child.attrSet(name, resolveTarget(file, String(target), locate))
    }
  }

  const { rules } = markdown.renderer
  rules.heading_close = (all, index, _options, _env, renderer) => {
    const anchor = all[index - 2]!.attrGet('id')
    const label = markdown.utils.escapeHtml(textOf(all[index - 1]!))
    const link = `<a class="anchor" href="#${anchor}" aria-label="Link to ${label}">#</a>`
    return `${all[index]!.tag === 'h1' ? '' : ` ${link}`}${renderer.renderToken(all, index, _options)}`
  }
  rules.table_open = () => '<div class="scrolls" tabindex="0" role="region" aria-label="Table"><table>\n'
  rules.table_close = () => '</table></div>\n'
  rules.fence = rules.code_block = (all, index) => {
    const { info, content } = all[index]!
    const [, language = '', name] = /^(\S*)(?: \[(.+)\])?/.exec(info.trim()) ?? []
    const caption = name ? `<figcaption>${markdown.utils.escapeHtml(name)}</figcaption>` : ''
    const code = `<pre tabindex="0" data-language="${markdown.utils.escapeHtml(language)}"><code>${markdown.utils.escapeHtml(content)}</code></pre>`
    return `<figure class="code">${caption}${code}</figure>\n`
  }
  rules.code_inline = (all, index) => {
    const { content } = all[index]!
    const html = `<code>${markdown.utils.escapeHtml(content)}</code>`
    const isLinked = all[index - 1]?.type === 'link_open'
    return errorCodes.has(content) && ERROR_CODE.test(content) && !isLinked
      ? `<a href="/docs/errors/${content}">${html}</a>`
      : html
  }
  const html = markdown.renderer.render(tokens, markdown.options, {})
  return { title: sections[0]?.heading ?? file, html, sections }
}

/** The visible text of a block. */
function textOf({ content, children }: Token): string {
  if (children === null || children.length === 0) return content
  return children
    .map((child) => (child.type === 'softbreak' ? ' ' : child.type === 'html_inline' ? '' : child.content))
    .join('')
}

/** GitHub numbers equal headings from the second on. */
function uniqueAnchor(anchors: Map<string, number>, anchor: string): string {
  const count = anchors.get(anchor) ?? 0
  anchors.set(anchor, count + 1)
  return count === 0 ? anchor : `${anchor}-${count}`
}

function resolveTarget(file: string, target: string, locate: Locate): string {
  if (/^[a-z]+:/.test(target) || target.startsWith('#')) return target
  const [path = '', anchor] = target.split('#')
  const linked = posix.join(posix.dirname(file), path)
  const url = locate(linked)
  if (url === undefined) throw new Error(`${file} links to ${linked}, which is not on the documentation site`)
  return anchor === undefined ? url : `${url}#${anchor}`
}
