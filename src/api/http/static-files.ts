import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { encodeContent } from '../../base/http/compressed-content.ts'
import { contentTypeOf } from '../../base/http/content-type.ts'
import { readProgramFile } from '../../base/process/program-files.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'

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

/** On the public host of the dashboard. Elsewhere a browser would look for TLS at a port that has none. */
function transportSecurity({ protocol, host }: FastifyRequest): Record<string, string> {
  const isPublic = protocol === 'https' && !host.includes(':') && !isLocalDomain(host)
  return isPublic ? { 'strict-transport-security': 'max-age=31536000' } : {}
}

const withSecurity = (reply: FastifyReply) =>
  reply.headers({ ...SECURITY_HEADERS, ...transportSecurity(reply.request) })

/** Serves the files of a directory whose names contain a digest of their content. */
export function mountAssets(http: FastifyInstance, prefix: string, directory: string): void {
  http.get<{ Params: { name: string } }>(`${prefix}/:name`, async (request, reply) => {
    const { name } = request.params
    // Rejects names that could leave the directory.
    const isSafeName = /^[\w-][\w.-]*$/.test(name) && !name.includes('..')
    const file = join(directory, name)
    const content = isSafeName ? await readProgramFile(file).catch(() => undefined) : undefined
    if (content === undefined) return reply.callNotFound()
    reply.header('cache-control', 'public, max-age=31536000, immutable')
    return send(reply, name, content, file)
  })
}

/** Sends a page or file that may change with the next build; browsers ask each time whether it did. */
export async function sendPage(
  reply: FastifyReply,
  name: string,
  content: Buffer | string,
): Promise<FastifyReply> {
  const body = Buffer.from(content)
  const digest = createHash('sha256').update(body).digest('base64url')
  // Weak, since it is the same in each coding.
  const etag = `W/"${digest}"`
  reply.header('cache-control', 'no-cache').header('etag', etag)
  if (reply.request.headers['if-none-match'] !== etag) return send(reply, name, body, digest)
  return withSecurity(reply).header('vary', 'accept-encoding').code(304).send()
}

/** `key` names the content. */
async function send(reply: FastifyReply, name: string, content: Buffer, key: string): Promise<FastifyReply> {
  const type = contentTypeOf(name)
  const { body, headers } = await encodeContent(key, content, type, reply.request.headers['accept-encoding'])
  return withSecurity(reply).type(type).headers(headers).send(body)
}
