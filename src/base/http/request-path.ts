/** The path of a request as rules read it. */
export interface RequestPath {
  /** The normal form of RFC 3986 section 6.2.2: escapes only where they are needed, in upper case. */
  readonly escaped: string
  /** Decoded, and repeated slashes merged: each spelling of a path that upstreams may read as this one is the same text. */
  readonly decoded: string
}

/** Anything but the plain spelling that nearly all requests have. */
const UNUSUAL = /[^\w.~!$&'()*+,=:@/-]|\/\/|\/\.\.?(?:\/|$)/

/** What no path contains unescaped (RFC 3986 section 3.3). */
const NEEDS_ESCAPE = /[^\w.~!$&'()*+,=:@/%;-]/g

/** Decoded text that upstreams read differently: control characters, backslashes, a host after two slashes, dot segments. */
const AMBIGUOUS = /[\x00-\x1f\x7f\\]|^\/\/|\/\.\.?(?:\/|$)/

/**
 * Reads the path of a request, which holds a character for each byte. Returns undefined when upstreams may differ on what it means,
 * so that no rule can decide about it: also for escapes that are not UTF-8, and for parameters (`;`), which some drop.
 */
export function readRequestPath(path: string): RequestPath | undefined {
  if (!UNUSUAL.test(path)) return { escaped: path, decoded: path }
  const escaped = path.replace(NEEDS_ESCAPE, (character) => escapeByte(character.charCodeAt(0)))
  const decoded = decodeUtf8(escaped)
  if (decoded === undefined || path.includes(';') || AMBIGUOUS.test(decoded)) return undefined
  return { escaped: normalizeEscapes(escaped), decoded: decoded.replace(/\/{2,}/g, '/') }
}

const escapeByte = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`

/** Undefined for escapes that are incomplete or not UTF-8, which includes overlong forms. */
function decodeUtf8(escaped: string): string | undefined {
  try {
    return decodeURIComponent(escaped)
  } catch {
    return undefined
  }
}

const normalizeEscapes = (escaped: string) =>
  escaped.replace(/%([0-9a-f]{2})/gi, (written, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    return /[\w.~-]/.test(character) ? character : written.toUpperCase()
  })
