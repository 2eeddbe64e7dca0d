import type { FastifyError, FastifySchemaValidationError } from 'fastify'
import { CertificateProblem } from '../certs/index.ts'
import { InvalidValue } from '../resources/index.ts'
import { StoreUnavailable } from '../store/index.ts'
import { fieldProblem, Problem, problem } from './problems.ts'

/** What the caller should read of something that was thrown; undefined for what only the log should tell. */
export function explainFailure(error: FastifyError, schema: unknown, bodyLimit: number): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof InvalidValue) return about(error.field, error.message)
  if (error instanceof CertificateProblem)
    return fieldProblem(error.field, 'invalid_field', `${error.field}: ${error.message}`)
  if (error instanceof StoreUnavailable) return problem('storage')
  if (error.validation?.[0] !== undefined) return explainValidation(error.validation[0], schema)
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('too_large', bodyLimit)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return problem('bad_request', error.message)
  }
  if (error.statusCode === 408) return problem('timeout')
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return problem('bad_request', error.message)
  return undefined
}

/** A value that is not allowed; nothing is named when the whole body is meant. */
function about(field: string | undefined, sentence: string): Problem {
  return field === undefined
    ? problem('invalid_field', sentence)
    : fieldProblem(field, 'invalid_field', sentence)
}

/** `/acl/0` as people write it: `acl[0]`. */
function fieldOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(
      (path, step) => (/^[0-9]+$/.test(step) ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`),
      '',
    )
}

function explainValidation(found: FastifySchemaValidationError, schema: unknown): Problem {
  const at = fieldOf(found.instancePath)
  const within = at === '' ? '' : `${at}.`
  const params = found.params as Record<string, unknown>
  if (found.keyword === 'additionalProperties') {
    const field = `${within}${String(params.additionalProperty)}`
    return fieldProblem(
      field,
      'unknown_field',
      field,
      allowedAt(schema, found.instancePath).join(', ') || 'none',
    )
  }
  if (found.keyword === 'required') {
    const field = `${within}${String(params.missingProperty)}`
    return fieldProblem(field, 'invalid_field', `${field} is required.`)
  }
  const sentence = complaint(found, params)
  return at === '' ? about(undefined, `The body ${sentence}.`) : about(at, `${at} ${sentence}.`)
}

function complaint(found: FastifySchemaValidationError, params: Record<string, unknown>): string {
  const words = (list: unknown[]) => list.filter((word) => word !== null && word !== 'null').join(', ')
  if (found.keyword === 'enum') return `has to be one of ${words(params.allowedValues as unknown[])}`
  if (found.keyword === 'type') return `has to be of type ${words([params.type].flat())}`
  return found.message ?? 'is not valid'
}

/** Names of the fields that can be given where the unknown one stood. */
function allowedAt(schema: unknown, pointer: string): string[] {
  let node = (schema as { body?: unknown })?.body as Record<string, unknown> | undefined
  for (const step of pointer.split('/').slice(1)) {
    const members = [node, ...((node?.anyOf as Record<string, unknown>[] | undefined) ?? [])]
    node = members
      .map(
        (member) =>
          (member?.properties as Record<string, Record<string, unknown>> | undefined)?.[step] ??
          (member?.items as Record<string, unknown> | undefined),
      )
      .find((found) => found !== undefined)
  }
  return Object.keys((node?.properties as object | undefined) ?? {})
}
