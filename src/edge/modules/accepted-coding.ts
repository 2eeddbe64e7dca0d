import { trimOws } from '../../base/optional-white-space.ts'

/**
 * The coding a visitor likes best (RFC 9110 section 12.5.3), the earlier in the list at equal liking; undefined when it
 * takes none of them, or would rather have the plain form.
 */
export function acceptedCoding<C extends string>(accept: string, codings: readonly C[]): C | undefined {
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
  // The plain form is always acceptable unless refused; it wins only when it is liked better by name.
  return best !== undefined && (weights.get('identity') ?? 0) > weightOf(best) ? undefined : best
}
