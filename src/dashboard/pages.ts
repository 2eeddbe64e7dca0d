import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { mountAssets, sendPage } from '../api/index.ts'
import { readProgramFile } from '../base/process/program-files.ts'
import { INSTALL_ROOT } from '../base/version.ts'

/** Where `npm run pages` puts the built dashboard. */
export const BUILT_PAGES = join(INSTALL_ROOT, 'dist', 'dashboard')

/** Serves the dashboard's page and assets from the build directory. */
export function mountPages(http: FastifyInstance, directory: string): void {
  http.get('/dashboard', async (_request, reply) => reply.redirect('/dashboard/'))
  http.get('/dashboard/', async (_request, reply) => {
    const page = await readProgramFile(join(directory, 'index.html')).catch(() => FALLBACK_PAGE)
    return sendPage(reply, 'index.html', page)
  })
  mountAssets(http, '/dashboard/assets', join(directory, 'assets'))
}

const FALLBACK_PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Adit</title>
<h1>Adit</h1>
<p>The server is running. Its dashboard has not been built yet; build it with <code>npm run pages</code> and reload.</p>
<p>The <a href="/reference">API reference</a> is available.</p>
</html>
`
