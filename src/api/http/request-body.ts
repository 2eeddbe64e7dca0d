import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errorMessage } from '../../base/text/error-message.ts'
import { pathOfNul } from '../../base/text/nul.ts'
import { fieldProblem, type Problem, problem } from '../problems.ts'
import type { BodyReader } from './read-body.ts'
import { parseStrictJson } from './strict-json.ts'

/** Makes the API read JSON bodies, and reject others and those of operations without a body. */
export function installBodyParsers(http: FastifyInstance, bodyReader: BodyReader): void {
  http.removeAllContentTypeParsers()
  http.addContentTypeParser(
    'application/json',
    bodyReader.parser((request, body) => {
      const path = pathOf(request)
      if (body.length > 0 && rejectsBody(request)) throw problem('body_unexpected', request.method)
      if (body.length === 0 || request.dialect.ignoresBody(path)) return undefined
      return request.dialect.readBody(request.method, requestedPath(request), parseBody(body))
    }),
  )
  http.addContentTypeParser(
    '*',
    bodyReader.parser((request, body) => {
      if (request.dialect.ignoresBody(pathOf(request))) return undefined
      if (!rejectsBody(request)) throw problem('content_type', request.headers['content-type'])
      if (body.length > 0) throw problem('body_unexpected', request.method)
      return undefined
    }),
  )
}

function pathOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?')
  return path
}

/** The path before an older name in it was replaced. */
export function requestedPath({ originalUrl }: FastifyRequest): string {
  const [path = ''] = originalUrl.split('?')
  return path
}

/** Parses a JSON body; throws a `Problem` if it is invalid. */
function parseBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw problem('malformed_json', 'it is not UTF-8.')
  const text = body.toString()
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    throw problem('malformed_json', errorMessage(error))
  }
  const nulPath = text.includes('\\u0000') ? pathOfNul(value) : undefined
  if (nulPath !== undefined) throw nulProblem(nulPath)
  return value
}

function nulProblem(field: string): Problem {
  const sentence = `${field || 'The body'} holds U+0000, which text here cannot have. Remove it.`
  return field === '' ? problem('invalid_field', sentence) : fieldProblem(field, 'invalid_field', sentence)
}

/** Whether a request must not have a body. */
export function rejectsBody({ dialect, routeOptions }: FastifyRequest): boolean {
  return dialect.rejectsBodies && (routeOptions.config as { bodiless?: boolean }).bodiless === true
}

/** Whether the headers declare a body. A chunked body may still turn out to be empty. */
export function declaresBody({ method, headers }: FastifyRequest): boolean {
  if (headers['transfer-encoding'] !== undefined) return method !== 'DELETE'
  return headers['content-length'] !== undefined && headers['content-length'] !== '0'
}
