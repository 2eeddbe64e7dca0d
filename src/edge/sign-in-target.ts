/**
 * The path that redeems tickets of visitors who have signed in, and the query that marks a ticket on routes without that
 * path.
 */
export const CALLBACK_PATH = '/auth/callback'
export const CALLBACK_QUERY = 'adit-login'

const LOGOUT_PATH = '/auth/logout'
/** Query that signs out on routes that do not contain `LOGOUT_PATH`. */
const LOGOUT_QUERY = 'adit-logout'

/** What a request target asks of the sign-in itself; undefined for one of the service. */
export function readSignInTarget(target: string): 'callback' | 'logout' | undefined {
  const end = target.indexOf('?')
  const path = end === -1 ? target : target.slice(0, end)
  const query = end === -1 ? '' : target.slice(end + 1)
  if (path === CALLBACK_PATH || query.startsWith(`${CALLBACK_QUERY}&`)) return 'callback'
  return path === LOGOUT_PATH || query === LOGOUT_QUERY ? 'logout' : undefined
}
