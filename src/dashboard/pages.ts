import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { readProgramFile } from '../base/program-files.ts'
import { INSTALL_ROOT } from '../base/version.ts'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** No third-party content, no framing, and text can never become markup (trusted types). */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Where `npm run pages` puts the built dashboard. */
export const BUILT_PAGES = join(INSTALL_ROOT, 'dist', 'dashboard')

/** Serves the dashboard's page and assets from the build directory. */
export function mountPages(http: FastifyInstance, directory: string): void {
  http.get('/', async (request, reply) =>
    request.headers.accept?.includes('text/html') ? reply.redirect('/dashboard/') : reply.callNotFound(),
  )
  http.get('/dashboard', async (_request, reply) => reply.redirect('/dashboard/'))
  http.get('/dashboard/', async (_request, reply) => {
    const page = await readProgramFile(join(directory, 'index.html')).catch(() => FALLBACK_PAGE)
    return sendFile(reply, page, 'text/html; charset=utf-8', 'no-cache')
  })
  http.get<{ Params: { name: string } }>('/dashboard/assets/:name', async (request, reply) => {
    const { name } = request.params
    // Rejects names that could leave the directory.
    const isSafeName = /^[\w-][\w.-]*$/.test(name) && !name.includes('..')
    const content = isSafeName
      ? await readProgramFile(join(directory, 'assets', name)).catch(() => undefined)
      : undefined
    if (content === undefined) return reply.callNotFound()
    // Asset names contain a digest of their content.
    const type = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream'
    return sendFile(reply, content, type, 'public, max-age=31536000, immutable')
  })
}

function sendFile(
  reply: FastifyReply,
  content: Buffer | string,
  type: string,
  caching: string,
): FastifyReply {
  return reply.headers(SECURITY_HEADERS).header('cache-control', caching).type(type).send(content)
}

const FALLBACK_PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Adit</title>
<h1>Adit</h1>
<p>The server is running. Its dashboard has not been built yet; build it with <code>npm run pages</code> and reload.</p>
<p>Until then: the <a href="/reference">reference of the API</a>.</p>
</html>
`
