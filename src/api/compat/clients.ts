import type { IncomingHttpHeaders } from 'node:http'
import { type ClientDialect, NATIVE } from './dialect.ts'
import { ORIGINAL, ORIGINAL_WITHOUT_EMPTY_ANSWERS } from './original.ts'
import { OLD_TERRAFORM_PROVIDER } from './terraform.ts'

/** Which client speaks how, by what its `User-Agent` begins with. */
const CLIENTS: readonly (readonly [userAgent: string, ClientDialect])[] = [
  ['ngrok-api-typescript/', ORIGINAL_WITHOUT_EMPTY_ANSWERS],
  ['ngrok-api-python/', ORIGINAL_WITHOUT_EMPTY_ANSWERS],
  ['ngrok-api-client/', OLD_TERRAFORM_PROVIDER],
]

/** The dialect of a request: clients of the original service send `Ngrok-Version`. */
export function dialectOf(headers: IncomingHttpHeaders): ClientDialect {
  if (headers['ngrok-version'] === undefined) return NATIVE
  const client = CLIENTS.find(([userAgent]) => headers['user-agent']?.startsWith(userAgent))
  return client?.[1] ?? ORIGINAL
}
