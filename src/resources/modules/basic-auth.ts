import { Type } from 'typebox'
import { isQuotable } from '../../base/http/quoted-string.ts'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption, optionalText } from '../schema/option.ts'
import { choice, described, flag, InvalidValue, text } from '../schema/value.ts'

const option = defineEndpointOption({
  name: 'basicAuth',
  field: 'BasicAuth',
  key: 'basic_auth',
  wire: Type.Object({
    credentials: Type.Optional(
      Type.Array(
        Type.Object({
          username: Type.String(),
          cleartext_password: optionalText,
          /** Base64 of the bcrypt text. */
          hashed_password: optionalText,
        }),
      ),
    ),
  }),
  config: Type.Array(Type.String()),
  flags: [{ name: 'basic-auth', help: 'ask visitors for user:password, may be repeated' }],
  check(credentials) {
    for (const text of credentials) {
      const { username, password } = splitCredential(text)
      if (!text.includes(':')) return 'an entry of "basic_auth" must be user:password'
      if (username.length < 1 || username.length > 128)
        return 'a "basic_auth" user name has 1 to 128 characters'
      if (password.length < 8 || password.length > 128)
        return 'a "basic_auth" password has 8 to 128 characters'
    }
    return undefined
  },
  encode: (credentials) => ({
    credentials: credentials.map((text) => {
      const { username, password } = splitCredential(text)
      return { username, cleartext_password: password }
    }),
  }),
  decode({ credentials = [] }): readonly { username: string; password: string }[] {
    // An empty list would mean "no protection" although protection was requested.
    if (credentials.length === 0)
      throw new InvalidValue(undefined, 'BasicAuth: at least one credential is needed.')
    return credentials.map(({ username, cleartext_password: password }) => {
      // The hash format is undocumented, and a wrong guess could admit the wrong people.
      if (!password)
        throw new InvalidValue(undefined, 'BasicAuth: every credential needs its password in clear text.')
      return { username, password }
    })
  },
})

/**
 * Requires HTTP basic authentication. The credentials are those of the agent, so only endpoints of agents and their
 * configurations have it; there is no such edge module.
 */
export const BasicAuth = defineModule(
  'basic_auth',
  'Asks visitors for a user name and password of the agent.',
  {
    auth_provider_id: described(
      choice(['agent'], 'agent'),
      'Where the credentials come from: the agent that serves the endpoint.',
    ),
    realm: described(
      text(255, realmError),
      'The name that browsers show for the protected area.',
      'Staff only',
    ),
    allow_options: described(
      flag(false),
      'Whether OPTIONS requests pass without credentials, as CORS preflight requests need to.',
    ),
  },
  { endpoint: option },
)

function realmError(realm: string): string | undefined {
  return isQuotable(realm)
    ? undefined
    : 'may contain printable ASCII characters, without quotes and backslashes.'
}

/** Splits `user:password` at the first colon. */
export function splitCredential(text: string): { username: string; password: string } {
  const colon = text.indexOf(':')
  return { username: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) }
}
