import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { isJson } from '../../../base/is-json.ts'
import { trimOws } from '../../../base/optional-white-space.ts'
import { fromJson, type Value } from '../../../policy/index.ts'
import { edgeError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { holdBody } from '../../held-body.ts'
import { ModuleConfigError } from '../../modules/context.ts'
import type { KeySets } from '../../modules/key-sets.ts'
import type { RequestExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'
import { errorResult } from './results.ts'

type Config = Parameters<Implementation<'jwt-validation'>['on_http_request']>[0]
type TokenConfig = Config['http']['tokens'][number]

const MAX_BODY_BYTES = 1024 * 1024
/** Clocks of issuers differ from ours. */
const CLOCK_TOLERANCE_SECONDS = 5
/** Types of tokens that have a `typ` of their own in their header. */
const EXPLICIT_TYPES: ReadonlySet<string> = new Set(['at+jwt', 'it+jwt'])

export const jwtValidation: Implementation<'jwt-validation'> = {
  on_http_request(config, { keySets }) {
    if (keySets === undefined) throw new ModuleConfigError('this server may not fetch the keys of issuers')
    const readsBody = config.http.tokens.some(({ method }) => method === 'body')

    const validate = async (execution: RequestExecution, body: Buffer | undefined): Promise<undefined> => {
      if (readsBody && body === undefined) return undefined // The client has disconnected.
      const tokens: Value[] = []
      for (const token of config.http.tokens) {
        const text = findToken(token, execution, body)
        if (text === undefined) throw refuse(execution, edgeError('token_missing'), tokens)
        const fault = await verify(text, token, config, execution, keySets)
        tokens.push(describe(text, token, execution, fault === undefined))
        if (fault !== undefined) throw refuse(execution, edgeError('token_denied', fault), tokens)
      }
      execution.results.jwt_validation = { tokens }
      return undefined
    }

    return (execution) => {
      const body =
        readsBody && hasReadableBody(execution.exchange)
          ? holdBody(execution.exchange, MAX_BODY_BYTES)
          : undefined
      return body instanceof Promise
        ? body.then((complete) => validate(execution, complete))
        : validate(execution, body ?? Buffer.alloc(0))
    }
  },
}

function refuse(execution: RequestExecution, error: ReturnType<typeof edgeError>, tokens: Value[]) {
  execution.results.jwt_validation = { tokens, ...errorResult(error) }
  return error
}

function hasReadableBody({ head }: Exchange): boolean {
  return ['POST', 'PUT', 'PATCH'].includes(head.method)
}

function findToken(
  { method, name, prefix }: TokenConfig,
  execution: RequestExecution,
  body: Buffer | undefined,
): string | undefined {
  const key = name.evaluate(execution).toLowerCase()
  const value =
    method === 'header' ? execution.exchange.fields.get(key) : bodyField(execution.exchange, key, body)
  const start = prefix.evaluate(execution)
  if (value === undefined || value.slice(0, start.length).toLowerCase() !== start.toLowerCase())
    return undefined
  return trimOws(value.slice(start.length)) || undefined
}

/** The field of a JSON object or a form with this name, in any case. */
function bodyField({ fields }: Exchange, key: string, body: Buffer | undefined): string | undefined {
  const type = (fields.get('content-type') ?? '').toLowerCase()
  const text = body?.toString() ?? ''
  const entries: Iterable<[string, unknown]> = type.includes('application/x-www-form-urlencoded')
    ? new URLSearchParams(text)
    : type.includes('json') && isJson(text)
      ? Object.entries((JSON.parse(text) as object | null) ?? {})
      : []
  for (const [name, value] of entries)
    if (name.toLowerCase() === key && typeof value === 'string') return value
  return undefined
}

/** Why a token is not accepted; undefined when it is. */
async function verify(
  text: string,
  { type }: TokenConfig,
  { issuer, audience, jws }: Config,
  execution: RequestExecution,
  keySets: KeySets,
): Promise<string | undefined> {
  const issuers = issuer.allow_list.map(({ value }) => value.evaluate(execution))
  const audiences = audience?.allow_list.map(({ value }) => value.evaluate(execution))
  try {
    // Before its keys are looked up: an issuer that is not allowed must not make the server fetch anything.
    const { iss = '' } = decodeJwt(text)
    if (!issuers.includes(iss)) return 'its issuer is not accepted here'
    const urls = jws.keys?.sources?.additional_jkus.map((url) => url.evaluate(execution)) ?? []
    const key = keySets.at(urls.length > 0 ? urls : [await keySets.urlOfIssuer(iss)])
    await jwtVerify(text, key, {
      issuer: issuers,
      ...(audiences === undefined ? {} : { audience: audiences }),
      ...(EXPLICIT_TYPES.has(type) ? { typ: type } : {}),
      algorithms: jws.allowed_algorithms,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(execution.now()),
    })
    return undefined
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'it has expired'
    if (error instanceof errors.JWTClaimValidationFailed)
      return `its claim "${error.claim}" is not accepted here`
    if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted here'
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is not valid'
    if (error instanceof errors.JWKSNoMatchingKey) return 'its key is unknown'
    if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid)
      return 'it is not a signed JSON Web Token'
    execution.context.log.info(
      { endpoint: execution.endpoint.id, reason: (error as Error).message },
      'token keys unavailable',
    )
    return 'the keys of its issuer cannot be read'
  }
}

function describe(
  text: string,
  { method, name }: TokenConfig,
  execution: RequestExecution,
  verified: boolean,
): Value {
  const location = { location: method, location_property: name.evaluate(execution), verified }
  try {
    const signature = text.slice(text.lastIndexOf('.') + 1)
    return fromJson({
      header: decodeProtectedHeader(text),
      payload: decodeJwt(text),
      signature,
      ...location,
    })!
  } catch {
    return fromJson(location)!
  }
}
