import type { FastifyError, FastifySchemaValidationError } from 'fastify'
import { CertificateProblem } from '../certs/index.ts'
import { InvalidValue } from '../resources/index.ts'
import { StoreUnavailable } from '../store/index.ts'
import { fieldProblem, Problem, problem } from './problems.ts'

/** The problem a caller sees for a thrown error; undefined for an unexpected error, which only the log describes. */
export function toProblem(error: FastifyError, schema: unknown, bodyLimit: number): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof InvalidValue) return invalidValue(error)
  if (error instanceof CertificateProblem)
    return fieldProblem(error.field, 'invalid_field', `${error.field}: ${error.message}`)
  if (error instanceof StoreUnavailable) return problem('storage')
  if (error.validation?.[0] !== undefined) return toValidationProblem(error.validation[0], schema)
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

/** An invalid value; without a field the whole body is meant. */
function invalidValue({ field, message, mistake }: InvalidValue): Problem {
  return field === undefined ? problem(mistake, message) : fieldProblem(field, mistake, message)
}

/** Formats a JSON pointer: `/acl/0` becomes `acl[0]`. */
function formatFieldPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(
      (path, step) => (/^[0-9]+$/.test(step) ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`),
      '',
    )
}

function toValidationProblem(failure: FastifySchemaValidationError, schema: unknown): Problem {
  const path = formatFieldPath(failure.instancePath)
  const prefix = path === '' ? '' : `${path}.`
  const params = failure.params as Record<string, unknown>
  if (failure.keyword === 'additionalProperties') {
    const field = `${prefix}${String(params.additionalProperty)}`
    return fieldProblem(
      field,
      'unknown_field',
      field,
      allowedFields(schema, failure.instancePath).join(', ') || 'none',
    )
  }
  if (failure.keyword === 'required') {
    const field = `${prefix}${String(params.missingProperty)}`
    return fieldProblem(field, 'invalid_field', `${field} is required.`)
  }
  const sentence = describeFailure(failure, params)
  return path === ''
    ? invalidValue(new InvalidValue(undefined, `The body ${sentence}.`))
    : invalidValue(new InvalidValue(path, `${path} ${sentence}.`))
}

function describeFailure(failure: FastifySchemaValidationError, params: Record<string, unknown>): string {
  const joinValues = (list: unknown[]) =>
    list
      .filter((word) => word !== null && word !== 'null')
      .map((word) => (word === '' ? 'empty' : word))
      .join(', ')
  if (failure.keyword === 'enum') return `must be one of ${joinValues(params.allowedValues as unknown[])}`
  if (failure.keyword === 'type') return `must be of type ${joinValues([params.type].flat())}`
  return failure.message ?? 'is not valid'
}

/** The fields that are allowed where the unknown one was. */
function allowedFields(schema: unknown, pointer: string): string[] {
  let node = (schema as { body?: unknown })?.body as Record<string, unknown> | undefined
  for (const step of pointer.split('/').slice(1)) {
    const members = [node, ...((node?.anyOf as Record<string, unknown>[] | undefined) ?? [])]
    node = members
      .map(
        (member) =>
          (member?.properties as Record<string, Record<string, unknown>> | undefined)?.[step] ??
          (member?.items as Record<string, unknown> | undefined),
      )
      .find((candidate) => candidate !== undefined)
  }
  return Object.keys((node?.properties as object | undefined) ?? {})
}
