import type { Transform } from 'node:stream'
import { constants, createBrotliCompress, createDeflate, createGzip } from 'node:zlib'
import { negotiateCoding } from '../../base/http/accepted-coding.ts'
import { trimOws } from '../../base/http/optional-white-space.ts'
import { Compression, type Settings } from '../../resources/index.ts'
import { addTransform, type Exchange, type MutableResponse } from '../contracts/exchange.ts'
import { implementModule } from '../contracts/module.ts'
import type { ModuleContext } from './context.ts'

/** Below this size compression saves too little, or makes the response longer. */
const MIN_BODY_BYTES = 256

/** Textual media types, with those below. Images, video, archives and most fonts are compressed already. */
const TEXTUAL = /^(?:text\/[\w.+-]+|application\/(?:[\w.-]+\+)?(?:json|xml))$/
const COMPRESSIBLE: ReadonlySet<string> = new Set([
  'application/javascript',
  'application/x-javascript',
  'application/x-ndjson',
  'application/ndjson',
  'application/wasm',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/sql',
  'image/svg+xml',
  'image/bmp',
  'image/x-icon',
  'image/vnd.microsoft.icon',
  'font/ttf',
  'font/otf',
])

/** The codings in the order of preference. */
export const CODINGS = ['br', 'gzip', 'deflate'] as const
type Coding = (typeof CODINGS)[number]

/** Encoders flush every chunk, so that event streams stay streams. */
const encoders: Record<Coding, () => Transform> = {
  br: () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
    }),
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH, level: 6 }),
  deflate: () => createDeflate({ flush: constants.Z_SYNC_FLUSH, level: 6 }),
}

/** Compresses responses on the fly for clients that accept it. */
export const compression = implementModule(Compression, {
  phase: 'request',
  build(_settings: Settings<typeof Compression>, _context: ModuleContext) {
    return (exchange) => {
      const acceptEncoding = exchange.fields.getAll('accept-encoding').join(',')
      exchange.onResponse((response) => void compress(exchange, response, acceptEncoding, CODINGS))
      return undefined
    }
  },
})

/** Compresses a response with one of these codings, as the client accepts them; returns the coding if there is one. */
export function compressResponse(
  exchange: Exchange,
  response: MutableResponse,
  codings: readonly Coding[],
): Coding | undefined {
  return compress(exchange, response, exchange.fields.getAll('accept-encoding').join(','), codings)
}

function compress(
  exchange: Exchange,
  response: MutableResponse,
  acceptEncoding: string,
  codings: readonly Coding[],
): Coding | undefined {
  const { fields } = response
  // A response to HEAD has the fields of one to GET.
  if (!response.hasBody && exchange.head.method !== 'HEAD') return undefined
  if (!isCompressible(response)) return undefined
  // Vary is set on uncompressed responses too, or a cache would serve them to every client.
  addVary(response)
  const coding = negotiateCoding(acceptEncoding, codings)
  if (coding === undefined) return undefined
  fields.set('Content-Encoding', coding)
  // Byte ranges refer to the uncompressed form, and the compressed one is no longer byte-identical.
  fields.remove('accept-ranges')
  const etag = fields.get('etag')
  if (etag !== undefined && !etag.startsWith('W/')) fields.set('ETag', `W/${etag}`)
  response.length = -1
  exchange.annotate('compression.algorithm', coding)
  if (response.hasBody) addTransform(response, encoders[coding]())
  return coding
}

/** A complete response of a textual type without an encoding or digest of its own. */
function isCompressible({ status, fields, length }: MutableResponse): boolean {
  if (status < 200 || status === 204 || status === 206 || status === 304) return false
  if (length !== -1 && length < MIN_BODY_BYTES) return false
  const encoding = fields.get('content-encoding')
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false
  if (
    ['content-range', 'repr-digest', 'content-digest', 'digest', 'content-md5'].some((name) =>
      fields.get(name),
    )
  ) {
    return false
  }
  const noTransform = fields
    .getAll('cache-control')
    .some((value) => /(^|[, \t])no-transform($|[, \t])/i.test(value))
  const [mediaType = ''] = (fields.get('content-type') ?? '').toLowerCase().split(';', 1)
  const type = trimOws(mediaType)
  return !noTransform && (TEXTUAL.test(type) || COMPRESSIBLE.has(type))
}

function addVary({ fields }: MutableResponse): void {
  const vary = fields.getAll('vary').join(',').toLowerCase()
  const listed = vary
    .split(',')
    .map(trimOws)
    .some((name) => name === 'accept-encoding' || name === '*')
  if (!listed) fields.add('Vary', 'Accept-Encoding')
}
