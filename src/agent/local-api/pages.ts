import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { encodeContent } from '../../base/http/compressed-content.ts'
import { contentTypeOf } from '../../base/http/content-type.ts'
import { readProgramFile } from '../../base/process/program-files.ts'

/**
 * Captured content is untrusted: the page must never execute it and must not be framed. Trusted Types make the browser
 * reject every attempt to turn text into markup, in case the page ever makes one.
 */
const SECURITY_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** True for the paths of pages, which users may navigate to from elsewhere. */
export function isPage(path: string): boolean {
  return path === '/' || path === '/status' || path === '/inspect' || path.startsWith('/inspect/')
}

/** Serves the inspector page and its assets from the build directory; returns false if there is no such file. */
export async function servePage(
  directory: string,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (path === '/') {
    response.writeHead(302, { Location: '/inspect/http', 'Content-Length': 0 }).end()
    return true
  }
  const name = isPage(path) ? 'index.html' : assetName(path)
  if (name === undefined) return false
  const file = join(directory, name)
  const content = await readProgramFile(file).catch(() => undefined)
  if (content) await send(request, response, file, content)
  else if (name === 'index.html') await send(request, response, name, Buffer.from(FALLBACK_PAGE))
  else return false
  return true
}

/** The relative file name of an asset; undefined for paths that could leave the directory. */
function assetName(path: string): string | undefined {
  return /^(?:\/[\w-][\w.-]*){1,4}$/.test(path) && !path.includes('..') ? path.slice(1) : undefined
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  file: string,
  content: Buffer,
): Promise<void> {
  const type = contentTypeOf(file)
  // The names of all files but the page contain a digest of their content.
  const isHtml = type.startsWith('text/html')
  const key = isHtml ? content.toString() : file
  const { body, headers } = await encodeContent(key, content, type, request.headers['accept-encoding'])
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    ...headers,
    'Content-Type': type,
    'Content-Length': body.length,
    'Cache-Control': isHtml ? 'no-cache' : 'public, max-age=31536000, immutable',
  })
  response.end(body)
}

const FALLBACK_PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Adit agent</title>
<h1>Adit agent</h1>
<p>The agent is running. Its inspector page has not been built yet; build it with <code>npm run pages</code> and reload.</p>
<p>Until then: <a href="/api/tunnels">tunnels</a>, <a href="/api/requests/http">captured requests</a>, <a href="/api/status">status</a>.</p>
</html>
`
