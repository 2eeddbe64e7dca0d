import { HTTP_PROTOS, RAW_PROTOS } from '../base/values/endpoint-url.ts'
import { type Problem, problem } from './problems.ts'

const CODE = problem('invalid_field', '').code

/** An invalid field of a cloud endpoint under the number that the original has for it. */
export function toEndpointProblem(cause: Problem, body: unknown): Problem {
  const { field = '' } = cause.details
  if (cause.code !== CODE) return cause
  const isMissing = cause.message === `${field} is required.`
  const name = nameOf(field, isMissing, (body as Readonly<Record<string, unknown>> | null)?.[field])
  return problem(name, cause.message).with(cause.details)
}

function nameOf(field: string, isMissing: boolean, value: unknown) {
  if (field === 'traffic_policy' && (isMissing || value === '')) return 'endpoint_policy_missing'
  if (isMissing) return 'endpoint_field_missing'
  if (field === 'url' && typeof value === 'string') return urlProblem(value)
  if (field.startsWith('bindings')) return 'endpoint_binding_invalid'
  if (field === 'description' && typeof value === 'string') return 'endpoint_description_long'
  if (field === 'metadata' && typeof value === 'string') return 'endpoint_metadata_long'
  return 'endpoint_field_invalid'
}

const PROTOS: readonly string[] = [...HTTP_PROTOS, ...RAW_PROTOS]

function urlProblem(url: string) {
  const [, scheme = '', port] = /^(?:([a-z]+):\/\/)?[^/?#:]*(?::([^/?#]*))?/i.exec(url) ?? []
  if (!PROTOS.includes(scheme.toLowerCase())) return 'endpoint_scheme_invalid'
  const isPort =
    port === undefined
      ? scheme !== 'tcp'
      : /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) < 65_536
  return isPort ? 'endpoint_url_invalid' : 'endpoint_port_invalid'
}
