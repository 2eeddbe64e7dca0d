import { JwtValidation, type Settings } from '../../resources/index.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { implementModule } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'
import { findToken, findTokenFault, withTokenBody } from './token-validation.ts'

/** Admits only requests with valid JSON Web Tokens of the accepted issuers. */
export const jwtValidation = implementModule(JwtValidation, {
  phase: 'request',
  build(
    { issuer, audience, http, jws }: Settings<typeof JwtValidation>,
    { services: { keySets }, clock, scopeId }: ModuleContext,
  ) {
    if (keySets === undefined) throw new ModuleConfigError('this server may not fetch the keys of issuers')
    const valuesOf = ({ allow_list }: typeof issuer) => allow_list.map(({ value }) => value)
    const audiences = valuesOf(audience)
    const requirements = {
      issuers: valuesOf(issuer),
      audiences: audiences.length === 0 ? undefined : audiences,
      algorithms: jws.allowed_algorithms,
      keyUrls: jws.keys.sources.additional_jkus,
    }

    const validate = async (exchange: Exchange, body: Buffer): Promise<undefined> => {
      for (const token of http.tokens) {
        const text = findToken(exchange, token, body)
        if (text === undefined) throw edgeError('token_missing')
        const fault = await findTokenFault(
          text,
          { type: token.type, ...requirements },
          { keySets, now: clock.now(), scope: scopeId, log: exchange.runtime.log },
        )
        if (fault !== undefined) throw edgeError('token_denied', fault)
      }
      return undefined
    }

    return (exchange) => withTokenBody(exchange, http.tokens, (body) => validate(exchange, body))
  },
})
