import type { Transform } from 'node:stream'
import { constants, createBrotliCompress, createDeflate, createGzip } from 'node:zlib'
import { trimOws } from '../../base/optional-white-space.ts'
import { Compression, type Settings } from '../../resources/index.ts'
import type { Exchange, Response } from '../exchange.ts'
import { defineModule } from '../module.ts'
import { acceptedCoding } from './accepted-coding.ts'
import type { ModuleContext } from './context.ts'

/** Below this a response gets longer, or not enough shorter to be worth it. */
const MIN_BODY_BYTES = 256

/** Text in its many forms. Images, films, archives and most fonts bring their own compression. */
const COMPRESSIBLE =
  /^(?:text\/[\w.+-]+|application\/(?:[\w.-]+\+)?(?:json|xml)|application\/(?:javascript|x-javascript|x-ndjson|ndjson|wasm|yaml|x-yaml|toml|sql)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/(?:ttf|otf))[ \t]*(?:;|$)/i

const CODINGS = ['br', 'gzip', 'deflate'] as const
type Coding = (typeof CODINGS)[number]

/** Every piece is passed on when it comes, so that streams of events stay streams. */
const encoders: Record<Coding, () => Transform> = {
  br: () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
    }),
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH, level: 6 }),
  deflate: () => createDeflate({ flush: constants.Z_SYNC_FLUSH, level: 6 }),
}

/** Compresses responses for visitors that accept it, as they pass. */
export const compression = defineModule(Compression, {
  phase: 'request',
  build(_settings: Settings<typeof Compression>, _context: ModuleContext) {
    return (exchange) => {
      const acceptEncoding = exchange.fields.getAll('accept-encoding').join(',')
      exchange.whenAnswered((response) => compress(exchange, response, acceptEncoding))
      return undefined
    }
  },
})

function compress(exchange: Exchange, response: Response, acceptEncoding: string): void {
  const { fields } = response
  if (!isCompressible(response)) return
  // Said also when this visitor gets the plain form: a cache in between must not give it to others.
  addVary(response)
  const coding = acceptedCoding(acceptEncoding, CODINGS)
  if (coding === undefined) return
  fields.set('Content-Encoding', coding)
  // Byte ranges of the plain form mean nothing for this one, and it is no longer the same byte for byte.
  fields.remove('accept-ranges')
  const etag = fields.get('etag')
  if (etag !== undefined && !etag.startsWith('W/')) fields.set('ETag', `W/${etag}`)
  response.length = -1
  exchange.note('compression.algorithm', coding)
  if (response.hasBody) response.through = encoders[coding]()
}

/** A whole response of a known textual type that nobody has encoded or digested yet. */
function isCompressible({ status, fields, length }: Response): boolean {
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
  return !noTransform && COMPRESSIBLE.test(fields.get('content-type') ?? '')
}

function addVary({ fields }: Response): void {
  const vary = fields.getAll('vary').join(',').toLowerCase()
  const listed = vary
    .split(',')
    .map(trimOws)
    .some((name) => name === 'accept-encoding' || name === '*')
  if (!listed) fields.add('Vary', 'Accept-Encoding')
}
