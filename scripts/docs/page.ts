import type { ContentsSection } from './contents.ts'
import type { Section } from './markdown.ts'

/** A page to put into the template. */
export interface Page {
  readonly title: string
  readonly url: string
  readonly html: string
  /** Its headings, for the list beside the text; undefined for a page that is not in the contents. */
  readonly sections?: readonly Section[]
}

/** Fills the built `src/web/docs/index.html`, whose comments mark what each page puts in. */
export function renderPage(template: string, contents: readonly ContentsSection[], page: Page): string {
  const title = page.title === 'Documentation' ? 'Adit documentation' : `${page.title} · Adit`
  return template
    .replace(/<title>.*<\/title>/, () => `<title>${escapeHtml(title)}</title>`)
    .replace('<!-- contents -->', () => renderContents(contents, page.url))
    .replace(
      '<!-- content -->',
      () => page.html + (page.sections ? renderNeighbours(contents, page.url) : ''),
    )
    .replace('<!-- outline -->', () => renderOutline(page.sections ?? []))
}

function renderContents(contents: readonly ContentsSection[], url: string): string {
  return contents
    .map(({ name, pages }) => {
      const items = pages.map(
        (page) =>
          `<li><a href="${page.url}"${page.url === url ? ' aria-current="page"' : ''}>${escapeHtml(page.name)}</a></li>`,
      )
      return `<section><h2>${escapeHtml(name)}</h2><ul>${items.join('')}</ul></section>`
    })
    .join('\n')
}

/** Links to the pages before and after. */
function renderNeighbours(contents: readonly ContentsSection[], url: string): string {
  const pages = contents.flatMap((section) => section.pages)
  const index = pages.findIndex((page) => page.url === url)
  const link = (page: (typeof pages)[number] | undefined, label: string, rel: string) =>
    page ? `<a rel="${rel}" href="${page.url}"><small>${label}</small> ${escapeHtml(page.name)}</a>` : ''
  return `<nav class="neighbours" aria-label="Previous and next page">${link(pages[index - 1], 'Previous', 'prev')}${link(pages[index + 1], 'Next', 'next')}</nav>\n`
}

function renderOutline(sections: readonly Section[]): string {
  const headings = sections.filter(({ level }) => level === 2 || level === 3)
  if (headings.length < 2) return ''
  const items = headings.map(
    ({ level, heading, anchor }) =>
      `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(heading)}</a></li>`,
  )
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
