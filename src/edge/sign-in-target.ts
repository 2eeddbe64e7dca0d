/**
 * The path that redeems tickets of visitors who have signed in, and the query that marks a ticket on routes without that
 * path.
 */
export const CALLBACK_PATH = '/auth/callback'
export const CALLBACK_QUERY = 'adit-login'

const LOGOUT_PATH = '/auth/logout'
/** Query that signs out on routes that do not contain `LOGOUT_PATH`. */
const LOGOUT_QUERY = 'adit-logout'

const SWITCH_PATH = '/auth/switch-account'
/** Query that signs in with another account on routes that do not contain `SWITCH_PATH`. */
const SWITCH_QUERY = 'adit-switch-account'

/** The target that signs in with another account and returns to `returnTo`, beside this callback path. */
export function switchTarget(callbackPath: string, returnTo: string): string {
  const target = callbackPath === CALLBACK_PATH ? `${SWITCH_PATH}?` : `${callbackPath}?${SWITCH_QUERY}&`
  return `${target}${new URLSearchParams({ return: returnTo })}`
}

/** The target that signs out, beside this callback path. */
export function logoutTarget(callbackPath: string): string {
  return callbackPath === CALLBACK_PATH ? LOGOUT_PATH : `${callbackPath}?${LOGOUT_QUERY}`
}

/** What a request target asks of the sign-in itself; undefined for one of the service. */
export function readSignInTarget(target: string): 'callback' | 'logout' | 'switch' | undefined {
  const end = target.indexOf('?')
  const path = end === -1 ? target : target.slice(0, end)
  const query = end === -1 ? '' : target.slice(end + 1)
  if (path === CALLBACK_PATH || query.startsWith(`${CALLBACK_QUERY}&`)) return 'callback'
  if (path === SWITCH_PATH || query.startsWith(`${SWITCH_QUERY}&`)) return 'switch'
  return path === LOGOUT_PATH || query === LOGOUT_QUERY ? 'logout' : undefined
}
