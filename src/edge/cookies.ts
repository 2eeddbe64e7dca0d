import { trimOws } from '../base/http/optional-white-space.ts'
import type { Exchange } from './contracts/exchange.ts'

/** The cookies of one request. */
export class Cookies {
  readonly #exchange: Exchange
  readonly #all: readonly string[]

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    const all: string[] = []
    for (const line of exchange.fields.getAll('cookie'))
      for (const part of line.split(';')) {
        const cookie = trimOws(part)
        if (cookie !== '') all.push(cookie)
      }
    this.#all = all
  }

  /** The value of a cookie; undefined when it is absent or occurs twice, which is always an attack. */
  get(name: string): string | undefined {
    const matches = this.#all.filter((cookie) => cookie[name.length] === '=' && cookie.startsWith(name))
    return matches.length === 1 ? matches[0]!.slice(name.length + 1) : undefined
  }

  /** The cookie names with this prefix, in the order the browser sent them. */
  namesFrom(prefix: string): string[] {
    return this.#all.filter((cookie) => cookie.startsWith(prefix)).map(cookieName)
  }

  /** Removes the edge's own cookies from the request: the upstream does not need them and could replay them. */
  hide(isOwnCookie: (name: string) => boolean): void {
    const remaining = this.#all.filter((cookie) => !isOwnCookie(cookieName(cookie)))
    if (remaining.length === this.#all.length) return
    const { fields } = this.#exchange
    fields.remove('cookie')
    if (remaining.length > 0) fields.add('cookie', remaining.join('; '))
  }
}

/**
 * The cookies of sessions that the hosts of a domain share (`auth_cookie_domain`). Browsers send them to every host of the
 * domain, also to those whose visitors sign in otherwise or not at all.
 */
const SHARED_SESSION = /^adit\.(?:.+\.)?[0-9a-f]{8}\.(?:session|tokens\.\d+)$/

/** Removes the cookies of shared sessions from a request, whose upstream could replay them at other hosts. */
export function hideSharedSessions(exchange: Exchange): void {
  if (!exchange.head.framing.fieldLines.includes('adit.')) return
  new Cookies(exchange).hide((name) => SHARED_SESSION.test(name))
}

function cookieName(cookie: string): string {
  const end = cookie.indexOf('=')
  return end === -1 ? cookie : cookie.slice(0, end)
}

/** A Set-Cookie line, HttpOnly and host-only unless it names a domain. `seconds` 0 deletes the cookie, undefined makes it a session cookie. */
export function formatSetCookie(
  name: string,
  value: string,
  options: {
    readonly path?: string
    readonly secure: boolean
    readonly seconds?: number | undefined
    readonly domain?: string | undefined
  },
): string {
  const { path = '/', secure, seconds, domain } = options
  const scope = domain === undefined ? '' : `; Domain=${domain}`
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  return `Set-Cookie: ${name}=${value}; Path=${path}${scope}${age}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}\r\n`
}
