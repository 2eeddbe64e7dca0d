import { Type } from 'typebox'
import { defineEndpointOption, optionalText } from '../option.ts'
import { InvalidValue } from '../value.ts'

/** Requires HTTP basic authentication. Only endpoints of agents have it; there is no such edge module. */
export const BasicAuth = {
  name: 'basic_auth',
  endpoint: defineEndpointOption({
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
  }),
} as const

/** Splits `user:password` at the first colon. */
export function splitCredential(text: string): { username: string; password: string } {
  const colon = text.indexOf(':')
  return { username: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) }
}
