import { trimOws } from '../../base/optional-white-space.ts'
import type { Exchange } from '../exchange.ts'

/** The cookies of one request. */
export class Cookies {
  readonly #exchange: Exchange
  readonly #all: readonly string[]

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    const all: string[] = []
    for (const line of exchange.fields.getAll('cookie'))
      for (const piece of line.split(';')) {
        const cookie = trimOws(piece)
        if (cookie !== '') all.push(cookie)
      }
    this.#all = all
  }

  /** The value of a cookie; undefined when it is absent or there twice, which nobody sends by accident. */
  get(name: string): string | undefined {
    const found = this.#all.filter((cookie) => cookie[name.length] === '=' && cookie.startsWith(name))
    return found.length === 1 ? found[0]!.slice(name.length + 1) : undefined
  }

  /** The names that begin like this, in the order in which the browser sent them. */
  namesFrom(prefix: string): string[] {
    return this.#all.filter((cookie) => cookie.startsWith(prefix)).map(nameOf)
  }

  /** Takes our cookies out of the request: the upstream has no use for them, and could replay them. */
  hide(isOurs: (name: string) => boolean): void {
    const kept = this.#all.filter((cookie) => !isOurs(nameOf(cookie)))
    if (kept.length === this.#all.length) return
    const { fields } = this.#exchange
    fields.remove('cookie')
    if (kept.length > 0) fields.add('cookie', kept.join('; '))
  }
}

function nameOf(cookie: string): string {
  const end = cookie.indexOf('=')
  return end === -1 ? cookie : cookie.slice(0, end)
}

/** A Set-Cookie line. Host-only and out of reach for scripts; `seconds` 0 deletes it, undefined ends it with the browser. */
export function setCookie(
  name: string,
  value: string,
  { path = '/', secure, seconds }: { path?: string; secure: boolean; seconds?: number | undefined },
): string {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  return `Set-Cookie: ${name}=${value}; Path=${path}${age}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}\r\n`
}
