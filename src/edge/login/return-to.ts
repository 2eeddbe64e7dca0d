// What does not fit into a cookie with the rest of a sign-in would be lost altogether.
const MAX_PATH_LENGTH = 1500

/** Path and query to go on with after a sign-in: the one asked for, or the start page when it cannot be kept. */
export function sanitizeReturnPath(target: string): string {
  return target.startsWith('/') && target.length <= MAX_PATH_LENGTH && !/[^\x21-\x7e]/.test(target)
    ? target
    : '/'
}

/** A path as an address that cannot leave its origin: after the whole origin, `//elsewhere` is only an odd path. */
export function toLocation(origin: string, path: string): string {
  return `${origin}${path.startsWith('/') ? path : '/'}`
}
