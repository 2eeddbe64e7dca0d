/**
 * Strings are sequences of code points to the language, and of UTF-16 units to JavaScript. They differ only in strings with
 * surrogates, which are rare, so that everything else takes the short way.
 */
const SURROGATE = /[\ud800-\udfff]/

export function pointCount(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xd800 && unit <= 0xdbff && index + 1 < text.length) {
      const next = text.charCodeAt(index + 1)
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--
        index++
      }
    }
  }
  return count
}

/** The code points from one index to before another. */
export function pointSlice(text: string, from: number, to: number): string {
  const start = unitIndex(text, from)
  const rest = text.slice(start)
  return rest.slice(0, unitIndex(rest, to - from))
}

/** Translates an index of UTF-16 units into one of code points. */
export function pointIndex(text: string, unitIndex: number): number {
  return unitIndex <= 0 ? unitIndex : pointCount(text.slice(0, unitIndex))
}

/** Translates an index of code points into one of UTF-16 units. */
export function unitIndex(text: string, index: number): number {
  if (!SURROGATE.test(text)) return index
  let unit = 0
  for (let point = 0; point < index && unit < text.length; point++)
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1
  return unit
}
