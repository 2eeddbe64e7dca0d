import type { Exchange } from '../exchange.ts'

/** The value of a cookie of the request; undefined when it is absent or there twice, which nobody sends by accident. */
export function readCookie({ fields }: Exchange, name: string): string | undefined {
  const found = cookiesOf(fields.getAll('cookie')).filter((cookie) => cookie.startsWith(`${name}=`))
  return found.length === 1 ? found[0]!.slice(name.length + 1) : undefined
}

/** Takes our cookies out of the request: the upstream has no use for them, and could replay them. */
export function hideCookies({ fields }: Exchange, isOurs: (name: string) => boolean): void {
  const all = cookiesOf(fields.getAll('cookie'))
  const kept = all.filter((cookie) => !isOurs(cookie.split('=', 1)[0]!))
  if (kept.length === all.length) return
  fields.remove('cookie')
  if (kept.length > 0) fields.add('cookie', kept.join('; '))
}

function cookiesOf(lines: readonly string[]): string[] {
  return lines
    .flatMap((line) => line.split(';').map((cookie) => cookie.trim()))
    .filter((cookie) => cookie !== '')
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
