const DOT = 46
const COLON = 58

/**
 * Writes an address as four words of 32 bits, IPv4 as `::ffff:a.b.c.d`. Returns false for any other text. It allocates
 * nothing: expressions may ask for every request.
 */
export function toWords(text: string, words: Uint32Array): boolean {
  if (!text.includes(':')) {
    const value = parseIpv4(text, 0)
    words[0] = words[1] = 0
    words[2] = 0xffff
    words[3] = value
    return value >= 0
  }
  return parseIpv6(text, words)
}

export const isIpv4Words = (words: Uint32Array): boolean =>
  words[0] === 0 && words[1] === 0 && words[2] === 0xffff

/** The address that begins at `start` and fills the rest of the text; -1 when there is none. */
function parseIpv4(text: string, start: number): number {
  let value = 0
  let part = -1
  let parts = 0
  for (let index = start; index <= text.length; index++) {
    const code = index === text.length ? DOT : text.charCodeAt(index)
    if (code === DOT) {
      if (part < 0 || part > 255 || ++parts > 4) return -1
      value = value * 256 + part
      part = -1
    } else if (code >= 48 && code <= 57 && part <= 255 && part !== 0)
      part = (part < 0 ? 0 : part * 10) + code - 48
    else return -1
  }
  return parts === 4 ? value : -1
}

const groups = new Uint16Array(8)

function parseIpv6(text: string, words: Uint32Array): boolean {
  groups.fill(0)
  let count = 0
  /** The number of groups before `::`. */
  let gap = -1
  let index = 0
  if (text.startsWith('::')) {
    gap = 0
    index = 2
  }
  while (index < text.length) {
    if (count === 8) return false
    let end = index
    let group = 0
    for (let digit = hexDigit(text, end); digit >= 0; digit = hexDigit(text, ++end))
      group = group * 16 + digit
    if (text.charCodeAt(end) === DOT) {
      const tail = count <= 6 ? parseIpv4(text, index) : -1
      if (tail < 0) return false
      groups[count++] = tail >>> 16
      groups[count++] = tail & 0xffff
      break
    }
    if (end === index || end - index > 4) return false
    groups[count++] = group
    if (end === text.length) break
    if (text.charCodeAt(end) !== COLON) return false
    index = end + 1
    if (text.charCodeAt(index) === COLON) {
      if (gap >= 0) return false
      gap = count
      index++
    } else if (index === text.length) return false
  }
  if (gap < 0 ? count !== 8 : count > 7) return false
  if (gap >= 0) {
    groups.copyWithin(8 - (count - gap), gap, count)
    groups.fill(0, gap, 8 - (count - gap))
  }
  for (let word = 0; word < 4; word++) words[word] = groups[word * 2]! * 0x10000 + groups[word * 2 + 1]!
  return true
}

function hexDigit(text: string, index: number): number {
  const code = text.charCodeAt(index) | 32
  if (code >= 48 && code <= 57 && text.charCodeAt(index) < 58) return code - 48
  return code >= 97 && code <= 102 ? code - 87 : -1
}
