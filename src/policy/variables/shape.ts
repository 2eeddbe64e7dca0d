import { type Field, objectOf, type Shape, type Type } from '../../cel/index.ts'

/** A field that is read from the source. */
export const field = <S>(type: Type, read: (source: S) => unknown): Field => ({ type, read })

const EMPTY: Readonly<Record<string, unknown>> = { string: '', bool: false, int: 0, list: [], object: {} }

/** A field that is empty where nothing is known, so that no rule about it fails. `has()` tells whether it is known. */
export const fact = <S>(type: Type, read: (source: S) => unknown): Field => ({
  ...field(type, read),
  fallback: EMPTY[type.kind],
})

/** Reads something once for each source, which must not change. */
export function once<S extends object, T>(read: (source: S) => T): (source: S) => T {
  const known = new WeakMap<S, { readonly value: T }>()
  return (source) => {
    let found = known.get(source)
    if (found === undefined) {
      found = { value: read(source) }
      known.set(source, found)
    }
    return found.value
  }
}

const ACRONYMS: Readonly<Record<string, string>> = { url: 'URL', ip: 'IP', tls: 'TLS', eu: 'EU' }
const capitalize = (word: string) => ACRONYMS[word] ?? word.slice(0, 1).toUpperCase() + word.slice(1)

/** Lets expressions of older SDKs name the fields too: `req.Method`, `conn.ClientIP`. Documents do not list those names. */
export function withOlderNames(fields: Shape['fields']): Shape['fields'] {
  for (const [name, value] of Object.entries(fields))
    Object.defineProperty(fields, name.split('_').map(capitalize).join(''), { value })
  return fields
}

/** An object whose fields are read from the same source as itself. */
export const group = (name: string, fields: Shape['fields']): Field => ({
  type: objectOf({ name, fields }),
  read: (source: never) => source,
})

/** Fields of a plain object, each with the type that is declared for it. */
export const plain = (name: string, types: Readonly<Record<string, Type>>): Type =>
  plainOf(name, types, field)

/** The same where each of them is empty when it is not known. */
export const facts = (name: string, types: Readonly<Record<string, Type>>): Type => plainOf(name, types, fact)

const plainOf = (name: string, types: Readonly<Record<string, Type>>, create: typeof field): Type =>
  objectOf({
    name,
    fields: Object.fromEntries(
      Object.entries(types).map(([key, type]) => [
        key,
        create(type, (source: Readonly<Record<string, unknown>>) => source[key]),
      ]),
    ),
  })
