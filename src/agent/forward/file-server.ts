import { createReadStream } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join, sep } from 'node:path'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { contentTypeOf } from '../../base/http/content-type.ts'
import { escapeHtml } from '../../base/http/html.ts'

/** Serves a directory on connections passed to `serve`; it opens no port. */
export interface FileServer {
  serve(connection: Duplex, onClosed: () => void): void
}

/** A static file server: GET and HEAD, ranges, listings; nothing outside the directory and no dot files. */
export function createFileServer(root: string): FileServer {
  const server = createServer((request, response) => {
    handleRequest(root, request, response).catch((error: NodeJS.ErrnoException) => {
      if (response.headersSent) response.destroy()
      else if (error.code === 'EACCES' || error.code === 'EPERM') sendError(response, 403, 'Forbidden')
      else sendError(response, 500, 'The file could not be read')
    })
  })
  return {
    serve(connection, onClosed) {
      connection.once('close', onClosed)
      server.emit('connection', connection)
    },
  }
}

async function handleRequest(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD')
    return sendError(response, 405, 'Only GET and HEAD are served')
  }
  const segments = parseSegments(request.url ?? '/')
  const entry = segments && (await locate(root, segments))
  if (!entry) return sendError(response, 404, 'Not found')
  const [path] = (request.url ?? '/').split('?', 1) as [string]
  if (!entry.directory) {
    // Relative links of a page would resolve below its own name.
    if (path.endsWith('/')) return sendError(response, 404, 'Not found')
    return sendFile(entry.path, request, response)
  }
  if (!path.endsWith('/')) {
    response.writeHead(301, { Location: `${path.replace(/^\/+/, '/')}/` }).end()
    return
  }
  const index = await locate(root, [...segments, 'index.html'])
  if (index && !index.directory) return sendFile(index.path, request, response)
  return sendListing(entry.path, segments, request, response)
}

/** The decoded path segments, or undefined if one of them must not be served. */
function parseSegments(url: string): string[] | undefined {
  try {
    const segments = url
      .split('?', 1)[0]!
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent)
    // Dot files (.env, .git) often hold secrets; this also rejects "." and "..".
    return segments.some((segment) => segment.startsWith('.') || /[/\\\0]/.test(segment))
      ? undefined
      : segments
  } catch {
    return undefined
  }
}

/** Resolves the segments, symbolic links included; undefined if the target is missing or outside the root. */
async function locate(
  root: string,
  segments: string[],
): Promise<{ path: string; directory: boolean } | undefined> {
  try {
    const realRoot = await realpath(root)
    const path = await realpath(join(realRoot, ...segments))
    if (path !== realRoot && !path.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep))
      return undefined
    const stats = await stat(path)
    return stats.isDirectory() || stats.isFile() ? { path, directory: stats.isDirectory() } : undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENAMETOOLONG')
      return undefined
    throw error
  }
}

async function sendFile(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { size, mtimeMs, mtime } = await stat(path)
  const etag = `"${size.toString(16)}-${Math.round(mtimeMs).toString(16)}"`
  response.setHeader('Content-Type', contentTypeOf(path))
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('Accept-Ranges', 'bytes')
  response.setHeader('Last-Modified', mtime.toUTCString())
  response.setHeader('ETag', etag)
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end()
    return
  }
  const range = parseRange(request.headers.range, size)
  if (range === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${size}`)
    return sendError(response, 416, 'The range is outside the file')
  }
  const { start, end } = range ?? { start: 0, end: size - 1 }
  if (range) response.setHeader('Content-Range', `bytes ${start}-${end}/${size}`)
  response.writeHead(range ? 206 : 200, { 'Content-Length': end - start + 1 })
  if (request.method === 'HEAD' || size === 0) {
    response.end()
    return
  }
  await pipeline(createReadStream(path, { start, end }), response)
}

/** Parses a single byte range. Multiple or malformed ranges get the complete file, as RFC 9110 section 14.2 allows. */
function parseRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return undefined
  const start = match[1] === '' ? Math.max(0, size - Number(match[2])) : Number(match[1])
  const end = match[1] === '' || match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1)
  return start > end || start >= size ? 'unsatisfiable' : { start, end }
}

async function sendListing(
  path: string,
  segments: string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
  if (segments.length > 0) names.unshift('../')
  const title = escapeHtml(`/${segments.join('/')}`)
  const items = names.map((name) => {
    const href =
      name === '../'
        ? name
        : `./${encodeURIComponent(name.replace(/\/$/, ''))}${name.endsWith('/') ? '/' : ''}`
    return `<li><a href="${href}">${escapeHtml(name)}</a></li>`
  })
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><ul>\n${items.join('\n')}\n</ul></html>\n`
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(page),
    'Content-Security-Policy': "default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : page)
}

function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${message}\n`)
}
