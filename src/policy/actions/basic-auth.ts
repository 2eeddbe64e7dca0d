import { isQuotable } from '../../base/http/quoted-string.ts'
import { BOOL, STRING } from '../../cel/index.ts'
import { described, flag, listOf, object, strictTemplate, text, withDefault } from '../config.ts'
import type { PolicyFault } from '../error-codes.ts'
import { plain } from '../variables/shape.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

const MIN_PASSWORD = 8
const MAX_PASSWORD = 128

export const basicAuth = defineAction({
  type: 'basic-auth',
  description: 'Requires a user name and a password.',
  example: { realm: 'staging', credentials: ['ann:a long password'] },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: ({ enforce }) => enforce,
  config: object({
    credentials: described(
      listOf(strictTemplate({ check: checkCredential }), { minItems: 1, maxItems: 10 }),
      'user:password, at most ten; the first colon divides them',
    ),
    realm: described(
      withDefault(
        text({
          maxLength: 128,
          check: (realm) =>
            isQuotable(realm)
              ? undefined
              : ['invalid_realm', 'it consists of ASCII characters, without quotation marks'],
        }),
        'adit',
      ),
      'the name that browsers show',
    ),
    enforce: described(withDefault(flag, true), 'false: only sets the results'),
  }),
  results: {
    credentials: plain('credentials', { presented: BOOL, username: STRING, authorized: BOOL }),
    error: errorResult,
  },
})

function checkCredential(credential: string): PolicyFault | undefined {
  const colon = credential.indexOf(':')
  if (colon === -1) return ['invalid_credential', 'a credential has the form user:password']
  const { length } = credential.slice(colon + 1)
  return length < MIN_PASSWORD || length > MAX_PASSWORD
    ? ['invalid_password', `a password has ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`]
    : undefined
}
