import { trimOws } from './optional-white-space.ts'

/**
 * Selects the content coding with the highest weight in Accept-Encoding (RFC 9110 section 12.5.3); ties go to the
 * earlier in the list. Undefined when the client accepts none of them or prefers the identity coding.
 */
export function negotiateCoding<C extends string>(accept: string, codings: readonly C[]): C | undefined {
  const weights = new Map<string, number>()
  for (const item of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map(trimOws)
    if (name === '') continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const value =
      weight === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
    weights.set(name === 'x-gzip' ? 'gzip' : name, value)
  }
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  let best: C | undefined
  for (const coding of codings) {
    if (weightOf(coding) > (best === undefined ? 0 : weightOf(best))) best = coding
  }
  // Identity is always acceptable unless excluded; it wins only when listed with a higher weight.
  return best !== undefined && (weights.get('identity') ?? 0) > weightOf(best) ? undefined : best
}
