import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { mountAssets, problem, sendPage } from '../api/index.ts'
import { readProgramFile } from '../base/process/program-files.ts'
import { INSTALL_ROOT } from '../base/version.ts'
import { findError, loadErrorCatalogue, renderExplanation } from '../errors/index.ts'

/** Where `npm run pages` puts the documentation site. */
const BUILT_SITE = join(INSTALL_ROOT, 'dist', 'docs')

/** Pages have no extension: `guides/ssh`. Files have one: `search.json`, `images/terminal.png`. */
const SAFE_PATH = /^[\w-]+(?:\/[\w-]+){0,3}(?:\.\w+)?$/

/** Mounts the documentation below `/docs`, with a page for every error code. It needs no key: nothing in it is secret. */
export function mountDocumentation(http: FastifyInstance, directory: string = BUILT_SITE): void {
  const read = (name: string) => readProgramFile(join(directory, name))
  http.get('/docs', async (_request, reply) => reply.redirect('/docs/'))
  http.get('/docs/', async (_request, reply) =>
    sendPage(reply, 'index.html', await read('index.html').catch(() => UNBUILT_PAGE)),
  )
  http.get<{ Params: { code: string } }>('/docs/errors/:code', async ({ params, url }, reply) => {
    const entry = findError(await loadErrorCatalogue(), params.code)
    if (entry === undefined) throw problem('no_route', url.split('?')[0]!)
    const template = await read('error-code.html').catch(() => '<!-- explanation -->')
    const page = String(template)
      .replace('<title>Error code', `<title>${entry.code}`)
      .replace('<!-- explanation -->', () => renderExplanation(entry))
    return sendPage(reply, 'error-code.html', page)
  })
  mountAssets(http, '/docs/assets', join(directory, 'assets'))
  http.get<{ Params: { '*': string } }>('/docs/*', async ({ params: { '*': path } }, reply) => {
    const name = path.includes('.') ? path : `${path}.html`
    const content = SAFE_PATH.test(path) ? await read(name).catch(() => undefined) : undefined
    if (content !== undefined) return sendPage(reply, name, content)
    const page = path.includes('.') ? undefined : await read('not-found.html').catch(() => undefined)
    return page === undefined ? reply.callNotFound() : sendPage(reply.code(404), 'not-found.html', page)
  })
}

const UNBUILT_PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Adit documentation</title>
<h1>Adit documentation</h1>
<p>The documentation has not been built yet; build it with <code>npm run pages</code> and reload.</p>
</html>
`
