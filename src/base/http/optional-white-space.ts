const TAB = 9
const SPACE = 32

/**
 * Trims optional white space: SP and HTAB alone (RFC 9110 section 5.6.3). `String.trim` also removes a no-break space,
 * which other readers of the same field keep (P24).
 */
export function trimOws(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isOws(text.charCodeAt(start))) start++
  while (end > start && isOws(text.charCodeAt(end - 1))) end--
  return end - start === text.length ? text : text.slice(start, end)
}

function isOws(code: number): boolean {
  return code === SPACE || code === TAB
}
