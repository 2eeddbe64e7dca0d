import { decodeJwt, decodeProtectedHeader } from 'jose'
import { fromJson, type Value } from '../../../cel/index.ts'
import { edgeError } from '../../errors.ts'
import { ModuleConfigError } from '../../modules/context.ts'
import { findToken, findTokenFault, withTokenBody } from '../../modules/token-validation.ts'
import type { RequestExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'
import { createInternalFetch } from '../internal-fetch.ts'
import { errorResult } from './results.ts'

type Config = Parameters<Implementation<'jwt-validation'>['on_http_request']>[0]
type TokenConfig = Config['http']['tokens'][number]

export const jwtValidation: Implementation<'jwt-validation'> = {
  on_http_request({ issuer, audience, http, jws }, { services: { keySets } }) {
    if (keySets === undefined) throw new ModuleConfigError('this server may not fetch the keys of issuers')

    const validate = async (execution: RequestExecution, body: Buffer): Promise<undefined> => {
      const { exchange, context, endpoint } = execution
      const evaluateAll = (list: Config['issuer']) =>
        list.allow_list.map(({ value }) => value.evaluate(execution))
      const requirements = {
        issuers: evaluateAll(issuer),
        audiences: audience && evaluateAll(audience),
        algorithms: jws.allowed_algorithms,
        keyUrls: jws.keys?.sources?.additional_jkus.map((url) => url.evaluate(execution)) ?? [],
      }
      const tokens: Value[] = []
      for (const token of http.tokens) {
        const { method, type } = token
        const [name, prefix] = [token.name.evaluate(execution), token.prefix.evaluate(execution)]
        const text = findToken(exchange, { method, name, prefix }, body)
        if (text === undefined) throw rejection(execution, edgeError('token_missing'), tokens)
        const fault = await findTokenFault(
          text,
          { type, ...requirements },
          {
            keySets,
            now: execution.now(),
            scope: endpoint.id,
            log: context.log,
            internal: { scope: context.accountId, fetch: createInternalFetch(exchange, context) },
          },
        )
        tokens.push(describe(text, token, execution, fault === undefined))
        if (fault !== undefined) throw rejection(execution, edgeError('token_denied', fault), tokens)
      }
      execution.results.jwt_validation = { tokens }
      return undefined
    }

    return (execution) => withTokenBody(execution.exchange, http.tokens, (body) => validate(execution, body))
  },
}

function rejection(execution: RequestExecution, error: ReturnType<typeof edgeError>, tokens: Value[]) {
  execution.results.jwt_validation = { tokens, ...errorResult(error) }
  return error
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
