import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendPage } from '../../api/index.ts'
import { escapeHtml } from '../../base/http/html.ts'
import { readProgramFile } from '../../base/process/program-files.ts'
import { INSTALL_ROOT } from '../../base/version.ts'
import type { Downloads } from './downloads.ts'
import { type OfferedRelease, sizeOf, toLastingName } from './release.ts'

/** Addresses in the installer. */
export interface HandedOutAddresses {
  /** The base URL of `/download`. */
  readonly url: string
  /** `host:port` of agents. */
  readonly agent: string | null
}

const NOTHING =
  'This server offers no agent downloads. Its operator can add a release with: adit server downloads add RELEASE_DIR\n'

/**
 * Mounts `/install.sh`, which installs the agent and tells it this server, and `/download` with the files of the release. They
 * need no key: nothing in them is secret. The second is an update channel too, `stable`.
 */
export function mountDownloads(
  http: FastifyInstance,
  downloads: Downloads,
  addresses: () => HandedOutAddresses,
): void {
  // Packs the executable before somebody waits for it; a failure is that of the request.
  void downloads.current().catch(() => {})
  http.get('/install.sh', async (_request, reply) => {
    const release = await downloads.current()
    const { url, agent } = addresses()
    if (release === undefined || agent === null) return sendNothing(reply)
    const script = String(await readProgramFile(join(INSTALL_ROOT, 'scripts', 'install.sh')))
    return sendPage(reply, 'install.txt', withAddresses(script, { url, agent }, release))
  })
  http.get('/download', async (_request, reply) => {
    const release = await downloads.current()
    return release === undefined ? sendNothing(reply) : sendPage(reply, 'index.html', formatPage(release))
  })
  for (const path of ['/download/:name', '/download/stable/:name'])
    http.get<{ Params: { name: string } }>(path, async (request, reply) => {
      const release = await downloads.current()
      const names = [...(release?.files.keys() ?? [])]
      const name = names.find((each) =>
        [each, release && toLastingName(each, release)].includes(request.params.name),
      )
      return release === undefined || name === undefined
        ? reply.callNotFound()
        : sendFile(request, reply, release, name)
    })
}

function sendNothing(reply: FastifyReply): FastifyReply {
  return reply.code(404).type('text/plain; charset=utf-8').send(NOTHING)
}

/** Fills in the three variables of the installer. */
function withAddresses(
  script: string,
  { url, agent }: { url: string; agent: string },
  { key = '' }: OfferedRelease,
): string {
  const values = { server_release: `${url}/download`, server_agents: agent, server_key: key }
  return Object.entries(values).reduce(
    // None of the values can hold a quote: host names, ports and base64.
    (text, [name, value]) => text.replace(`\n${name}=''\n`, () => `\n${name}='${value}'\n`),
    script,
  )
}

function formatPage({ version, files }: OfferedRelease): string {
  const items = [...files].map(
    ([name, { sha256 }]) =>
      `<li><a href="/download/${escapeHtml(name)}">${escapeHtml(name)}</a> <code>${sha256}</code></li>`,
  )
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Adit ${escapeHtml(version)}</title>
<h1>Adit ${escapeHtml(version)}</h1>
<p>The files of this release with their SHA-256. <a href="/install.sh">install.sh</a> installs the agent.</p>
<ul>
${items.join('\n')}
</ul>
</html>
`
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  release: OfferedRelease,
  name: string,
): Promise<FastifyReply> {
  const size = await sizeOf(release, name)
  if (size === undefined) {
    reply.callNotFound()
    return reply
  }
  const etag = `"${release.files.get(name)!.sha256}"`
  reply.headers({
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'content-type': 'application/octet-stream',
    'x-content-type-options': 'nosniff',
    etag,
  })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  const { range, 'if-range': condition = etag } = request.headers
  const part = condition === etag ? parseRange(range, size) : undefined
  if (part === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${size}`).send()
  const { start, end } = part ?? { start: 0, end: size - 1 }
  if (part !== undefined) reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`)
  reply.header('content-length', end - start + 1)
  const content =
    request.method === 'HEAD'
      ? Readable.from([])
      : createReadStream(join(release.directory, name), { start, end })
  return reply.send(content)
}

/** One range of bytes (RFC 9110 section 14.1.2); a header with several, or in another unit, is ignored. */
function parseRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && first !== '' && Number(last) < Number(first)) return undefined
  return start >= size || (first === '' && Number(last) === 0) ? 'unsatisfiable' : { start, end }
}
