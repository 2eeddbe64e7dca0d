import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { loadErrorCatalogue } from '../../src/errors/index.ts'
import type { SearchEntry } from '../../src/web/docs/search-entry.ts'
import { readContents, START, urlOf } from './contents.ts'
import { type RenderedDocument, renderDocument } from './markdown.ts'
import { renderPage } from './page.ts'

/** Files that are linked and not pages, with where a server has them. */
const FILES: Readonly<Record<string, string>> = {
  LICENSE: '/docs/license.txt',
  'docs/openapi.json': '/openapi.json',
}

/**
 * Why not VitePress: the site is part of `npm start` and of every package, so it has to build in a second, run under the
 * Content-Security-Policy of the other pages (no inline scripts) and look like them.
 *
 * Writes the documentation site into the directory that holds its bundled script and style, whose `index.html` is the
 * template of all pages. Returns the documents it was made from.
 */
export async function writeSite(root: string, directory: string): Promise<string[]> {
  const built = await readFile(join(directory, 'index.html'), 'utf8')
  // The script sets the theme: without waiting for it, a page would flash in the other one.
  const template = built.replace('<script ', '<script blocking="render" ')
  const contents = readContents(await readFile(join(root, START), 'utf8'))
  const documents = [START, ...contents.flatMap(({ pages }) => pages.map(({ file }) => file))]
  const known = new Set(documents)
  const errors = await loadErrorCatalogue()
  const errorCodes = new Set(errors.map(({ code }) => code))
  const images = new Set<string>()
  const locate = (file: string): string | undefined => {
    if (known.has(file)) return urlOf(file)
    if (file.startsWith('docs/images/')) {
      images.add(file)
      return `/${file}`
    }
    return FILES[file]
  }

  const entries: SearchEntry[] = errors.map(({ code, area, cause, next }) => ({
    url: `/docs/errors/${code}`,
    page: 'Errors',
    heading: code,
    text: `${cause} ${next} ${area}`.replaceAll('`', ''),
  }))
  for (const file of documents) {
    const document = renderDocument(file, await readFile(join(root, file), 'utf8'), { locate, errorCodes })
    const url = urlOf(file)
    await write(directory, url, renderPage(template, contents, { ...document, url }))
    entries.push(...searchEntries(document, url))
  }
  // The server puts the explanation of one error code in.
  const errorPage = { title: 'Error code', url: '/docs/errors', html: '<!-- explanation -->' }
  await writeFile(join(directory, 'error-code.html'), renderPage(template, contents, errorPage))
  const notFound = { title: 'Page not found', url: '', html: NOT_FOUND }
  await writeFile(join(directory, 'not-found.html'), renderPage(template, contents, notFound))
  await writeFile(join(directory, 'search.json'), JSON.stringify(entries))
  await cp(join(root, 'LICENSE'), join(directory, 'license.txt'))
  for (const image of images) await cp(join(root, image), join(directory, image.replace(/^docs\//, '')))
  return [...documents, ...images, 'LICENSE']
}

const NOT_FOUND =
  '<h1>Page not found</h1><p>The documentation has no page at this address. Search for it (press <kbd>/</kbd>), or go to the <a href="/docs/">start page</a>.</p>'

async function write(directory: string, url: string, page: string): Promise<void> {
  const path = url.replace(/^\/docs\//, '')
  const file = join(directory, `${path === '' ? 'index' : path}.html`)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, page)
}

/** An entry for each heading of a document that is a page of its own or has text below it. */
function searchEntries({ title, sections }: RenderedDocument, url: string): SearchEntry[] {
  return sections.map(({ level, heading, anchor, text }) => ({
    url: level === 1 ? url : `${url}#${anchor}`,
    page: title,
    heading: level === 1 ? '' : heading,
    text: text.trim(),
  }))
}
