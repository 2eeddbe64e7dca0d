import { trimOws } from '../../base/http/optional-white-space.ts'

/** Whether the browser uses TLS: it came through the edge, or the configured URL says so. No header decides. */
export function isSecure({ protocol }: { readonly protocol: string }, listenerUrl: string): boolean {
  return protocol === 'https' || listenerUrl.startsWith('https:')
}

/** The name of the session cookie. With TLS, the `__Host-` prefix keeps other hosts from setting it. */
export function cookieName(secure: boolean): string {
  return secure ? '__Host-adit_session' : 'adit_session'
}

/** The `Set-Cookie` value of a session. */
export function sessionCookie(token: string, secure: boolean, maxAgeSeconds: number): string {
  const flags = `HttpOnly; SameSite=Strict; Path=/${secure ? '; Secure' : ''}`
  return `${cookieName(secure)}=${token}; Max-Age=${maxAgeSeconds}; ${flags}`
}

/** The value of a cookie in a `Cookie` header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined
  for (const pair of header.split(';')) {
    const [key, value] = pair.split('=', 2)
    if (trimOws(key!) === name) return value === undefined ? undefined : trimOws(value)
  }
  return undefined
}
