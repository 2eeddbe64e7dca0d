import type { Activation, Template } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { edgeError } from '../../errors.ts'
import { compileCredentials } from '../../modules/basic-auth.ts'
import type { Implementation } from '../implement.ts'
import { errorResult } from './results.ts'

export const basicAuth: Implementation<'basic-auth'> = {
  on_http_request({ credentials, realm, enforce }) {
    const literals = credentials.flatMap(({ literal }) => literal ?? [])
    const fixed = literals.length === credentials.length ? compileCredentials(literals) : undefined

    return (execution) => {
      const check =
        fixed ?? compileCredentials(credentials.map((credential) => evaluate(credential, execution)))
      const found = check(execution.exchange)
      const error = found.authorized ? undefined : edgeError('credentials_required').withRealm(realm)
      execution.results.basic_auth = { credentials: found, ...errorResult(error) }
      if (enforce && error !== undefined) throw error
      return undefined
    }
  },
}

/** A variable that happens to be empty must not open the door. */
function evaluate(template: Template, activation: Activation): string {
  const credential = template.evaluate(activation)
  if (/^[^:]*:?$/.test(credential)) throw new PolicyFailure('a credential of basic-auth has no password')
  return credential
}
