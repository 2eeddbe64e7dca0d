import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { contentTypeOf } from '../base/content-type.ts'
import { readProgramFile } from '../base/program-files.ts'

/** No third-party content, no framing, and text becomes markup in the preview of error pages alone (decision 238). */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types error-page-preview",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Serves the files of a directory whose names contain a digest of their content. */
export function mountAssets(http: FastifyInstance, prefix: string, directory: string): void {
  http.get<{ Params: { name: string } }>(`${prefix}/:name`, async (request, reply) => {
    const { name } = request.params
    // Rejects names that could leave the directory.
    const isSafeName = /^[\w-][\w.-]*$/.test(name) && !name.includes('..')
    const content = isSafeName
      ? await readProgramFile(join(directory, name)).catch(() => undefined)
      : undefined
    if (content === undefined) return reply.callNotFound()
    return reply
      .headers(SECURITY_HEADERS)
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type(contentTypeOf(name))
      .send(content)
  })
}

/** Sends a page or file that may change with the next build; browsers ask each time whether it did. */
export function sendPage(reply: FastifyReply, name: string, content: Buffer | string): FastifyReply {
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`
  reply.headers(SECURITY_HEADERS).header('cache-control', 'no-cache').header('etag', etag)
  const isUnchanged = reply.request.headers['if-none-match'] === etag
  return isUnchanged ? reply.code(304).send() : reply.type(contentTypeOf(name)).send(content)
}
