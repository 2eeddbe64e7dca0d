import type { Exchange } from '../../contracts/exchange.ts'
import { Cookies, formatSetCookie } from '../../cookies.ts'
import { MAX_TOKEN_COOKIES, splitTokens } from '../provider-tokens.ts'
import type { Seal } from '../seal.ts'
import type { SessionEnd, SharedSessions } from '../sessions/session.ts'
import { MAX_STATE_SECONDS } from '../sessions/tickets.ts'

const DEFAULT_PREFIX = 'adit.'
/** Pending sign-ins per browser and host. */
const MAX_SIGN_INS_PER_BROWSER = 8

/** Content of the sealed cookie in the browser that started a sign-in. */
export interface PendingSignIn {
  readonly signInId: string
  /** Path and query to return to. */
  readonly returnTo: string
  /** How the session ended that the visitor had before. */
  readonly follows?: SessionEnd
}

/** The cookies of a guard: their names, and those of a sign-in that is pending. */
export class GuardCookies {
  /** The sealed session. */
  readonly session: string
  /**
   * Other hosts of the domain can set any cookie here except one with the `__Host-` prefix, so a session without it is
   * forged. Sessions that hosts share have none.
   */
  readonly #proof: string | undefined
  readonly #tokens: string
  readonly #login: string
  // Over https, no other host of the domain can set the cookie that proves which browser started a sign-in.
  readonly #browser: { readonly plain: string; readonly secure: string }
  readonly #domain: string | undefined
  readonly #seal: Seal
  readonly #sealPurpose: string

  constructor(options: { prefix: string; scopeId: string; shared: SharedSessions | undefined; seal: Seal }) {
    const prefix = options.prefix === '' ? DEFAULT_PREFIX : options.prefix
    const { shared } = options
    // A browser may have sessions of several domains, one inside the other, and sends them all.
    const sessionPrefix = shared === undefined ? prefix : `${prefix}${shared.scopeId.slice(-8)}.`
    this.session = `${sessionPrefix}session`
    this.#proof = shared === undefined ? `__Host-${prefix}session` : undefined
    this.#tokens = `${sessionPrefix}tokens.`
    this.#domain = shared?.domain
    this.#login = `${prefix}login.`
    this.#browser = { plain: `${prefix}browser.`, secure: `__Host-${prefix}browser.` }
    this.#seal = options.seal
    this.#sealPurpose = `login ${options.scopeId}`
  }

  /** Whether a cookie belongs to this guard, so that upstreams do not get it. */
  readonly isOwn = (name: string): boolean =>
    name === this.session ||
    name === this.#proof ||
    name.startsWith(this.#tokens) ||
    name.startsWith(this.#login) ||
    name.startsWith(this.#browser.plain) ||
    name.startsWith(this.#browser.secure)

  /** The fields that make the browser remember a sign-in that it has started, and prove it later by the secret. */
  formatPending(
    exchange: Exchange,
    pending: PendingSignIn,
    { path, secret }: { path: string; secret: string },
  ): string {
    const options = { secure: isSecure(exchange), seconds: MAX_STATE_SECONDS }
    const { signInId } = pending
    const sealed = this.#seal.encrypt(this.#sealPurpose, pending)
    // A browser cookie is sent with every request, so their number is limited. Browsers list the oldest first.
    const excess = new Cookies(exchange)
      .namesFrom(this.#browserName(exchange, ''))
      .slice(0, 1 - MAX_SIGN_INS_PER_BROWSER)
    return (
      formatSetCookie(this.#login + signInId, sealed, { ...options, path }) +
      formatSetCookie(this.#browserName(exchange, signInId), secret, options) +
      excess.map((name) => formatSetCookie(name, '', { ...options, seconds: 0 })).join('')
    )
  }

  /** What the browser remembers of a sign-in; nothing in a browser that has not started it. */
  readPending(
    exchange: Exchange,
    signInId: string,
  ): { secret: string | undefined; pending: PendingSignIn | undefined } {
    const cookies = new Cookies(exchange)
    const sealed = cookies.get(this.#login + signInId)
    return {
      secret: cookies.get(this.#browserName(exchange, signInId)),
      pending:
        sealed === undefined ? undefined : this.#seal.decrypt<PendingSignIn>(this.#sealPurpose, sealed),
    }
  }

  /** The fields that delete the cookies of a completed sign-in. */
  expirePending(exchange: Exchange, signInId: string, path: string): string {
    const options = { secure: isSecure(exchange), seconds: 0 }
    return (
      formatSetCookie(this.#login + signInId, '', { ...options, path }) +
      formatSetCookie(this.#browserName(exchange, signInId), '', options)
    )
  }

  /** The fields that set the cookies of a session. */
  formatSession(
    exchange: Exchange,
    { id, sealed }: { id: string; sealed: string },
    seconds: number | undefined,
  ): string {
    const secure = isSecure(exchange)
    const proof =
      secure && this.#proof !== undefined ? formatSetCookie(this.#proof, id, { secure, seconds }) : ''
    return this.renewSession(exchange, sealed, seconds) + proof
  }

  /** The field that replaces the session of a visitor. */
  renewSession(exchange: Exchange, sealed: string, seconds: number | undefined): string {
    return formatSetCookie(this.session, sealed, this.#shared(exchange, seconds))
  }

  /** Whether this host has set the session of a request. */
  isProven(exchange: Exchange, cookies: Cookies, sessionId: string): boolean {
    return !isSecure(exchange) || this.#proof === undefined || cookies.get(this.#proof) === sessionId
  }

  /** The fields that set the cookies of sealed tokens, and delete those of earlier ones. */
  formatTokens(exchange: Exchange, sealed: string, seconds: number | undefined): string {
    const values = splitTokens(sealed)
    const lines = values.map((value, index) =>
      formatSetCookie(`${this.#tokens}${index}`, value, this.#shared(exchange, seconds)),
    )
    return lines.join('') + this.expireTokens(exchange, values.length)
  }

  /** The sealed tokens of a request; empty when it has none. */
  readTokens(cookies: Cookies): string {
    let sealed = ''
    for (let index = 0; index < MAX_TOKEN_COOKIES; index++)
      sealed += cookies.get(`${this.#tokens}${index}`) ?? ''
    return sealed
  }

  /** The fields that delete the token cookies of a request, from this one on. */
  expireTokens(exchange: Exchange, first = 0): string {
    const current = Array.from({ length: first }, (_, index) => `${this.#tokens}${index}`)
    return new Cookies(exchange)
      .namesFrom(this.#tokens)
      .filter((name) => !current.includes(name))
      .map((name) => formatSetCookie(name, '', this.#shared(exchange, 0)))
      .join('')
  }

  /** The fields that delete the cookies of a session. */
  expireSession(exchange: Exchange): string {
    return this.formatSession(exchange, { id: '', sealed: '' }, 0) + this.expireTokens(exchange)
  }

  /** The attributes of the cookies that hosts may share. */
  #shared(exchange: Exchange, seconds: number | undefined) {
    return { secure: isSecure(exchange), seconds, domain: this.#domain }
  }

  /** Name of the cookie that proves which browser started a sign-in. */
  #browserName(exchange: Exchange, signInId: string): string {
    return (isSecure(exchange) ? this.#browser.secure : this.#browser.plain) + signInId
  }
}

/** Whether the request came over TLS. */
export function isSecure({ connection }: Exchange): boolean {
  return connection.scheme === 'https'
}
