const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}
const PART = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/y

/** Milliseconds of a duration such as `10s`, `1m30s` or `500ms`; undefined when the text is not one. */
export function parseDuration(text: string): number | undefined {
  let milliseconds = 0
  PART.lastIndex = 0
  while (PART.lastIndex < text.length) {
    const part = PART.exec(text)
    if (!part) return undefined
    milliseconds += Number(part[1]) * UNITS[part[2]!]!
  }
  return text === '' ? undefined : milliseconds
}
