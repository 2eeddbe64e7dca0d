import type { Call, Overload } from './overload.ts'
import { listOf, mapOf, optionalOf, SIMPLE_KINDS, type SimpleKind, type Type } from './types.ts'

/**
 * Declares an overload by its signature: `size(string) -> int`, `string.trim() -> string` for a method, `math.abs(int) ->
 * int` in a namespace. A capital letter is a type parameter.
 */
export function overload(
  signature: string,
  call: Call,
  specialize?: NonNullable<Overload['specialize']>,
): Overload {
  const reader = new Reader(signature)
  const receiver = reader.receiver()
  const name = reader.take(/[^\s(]+/y)
  const parameters = reader.parameters()
  reader.take(/\s*->\s*/y)
  const result = reader.type()
  return {
    name,
    receiver: receiver !== undefined,
    parameters: receiver === undefined ? parameters : [receiver, ...parameters],
    result,
    call,
    ...(specialize && { specialize }),
  }
}

class Reader {
  readonly #source: string
  #position = 0

  constructor(source: string) {
    this.#source = source
  }

  take(pattern: RegExp): string {
    const text = this.#accept(pattern)
    if (text === undefined) throw new Error(`the signature ${this.#source} cannot be read`)
    return text
  }

  #accept(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    const text = pattern.exec(this.#source)?.[0]
    this.#position += text?.length ?? 0
    return text
  }

  /** A type and a dot; a namespace is no type, and a function has no dot after its parameters. */
  receiver(): Type | undefined {
    const [head = ''] = this.#source.split(' -> ')
    const name = head.slice(0, head.lastIndexOf('('))
    const dot = name.lastIndexOf('.')
    if (
      dot === -1 ||
      !/^(?:bool|int|uint|double|string|bytes|duration|timestamp|dyn|[A-Z]|\w+\(.*\))$/.test(
        name.slice(0, dot),
      )
    )
      return undefined
    const type = this.type()
    this.take(/\./y)
    return type
  }

  parameters(): Type[] {
    this.take(/\(/y)
    const types: Type[] = []
    while (this.#accept(/\)/y) === undefined) {
      types.push(this.type())
      this.#accept(/,\s*/y)
    }
    return types
  }

  type(): Type {
    const word = this.take(/\w+/y)
    if (isSimple(word)) return { kind: word }
    if (/^[A-Z]$/.test(word)) return { kind: 'parameter', name: word }
    const parameters = this.parameters()
    const [first, second] = parameters as [Type, Type]
    if (word === 'list') return listOf(first)
    if (word === 'map') return mapOf(first, second)
    if (word === 'optional') return optionalOf(first)
    if (word === 'type') return { kind: 'type', inner: first }
    return { kind: 'opaque', name: word, parameters }
  }
}

const isSimple = (word: string): word is SimpleKind => (SIMPLE_KINDS as readonly string[]).includes(word)
