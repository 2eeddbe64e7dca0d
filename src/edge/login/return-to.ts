// A longer path would make the sign-in cookie too large, and browsers would drop it.
const MAX_PATH_LENGTH = 1500

/** The path and query to return to after sign-in; `/` when the requested one cannot be stored. */
export function sanitizeReturnPath(target: string): string {
  return target.startsWith('/') && target.length <= MAX_PATH_LENGTH && !/[^\x21-\x7e]/.test(target)
    ? target
    : '/'
}

/** A URL that cannot leave its origin: after a complete origin, `//elsewhere` is only a path. */
export function toLocation(origin: string, path: string): string {
  return `${origin}${path.startsWith('/') ? path : '/'}`
}
