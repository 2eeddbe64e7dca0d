import { partsOf, type Type, typeText, withParts } from './types.ts'

/** What the type parameters of an expression stand for, worked out step by step while it is checked. */
export class Substitution {
  readonly #bound = new Map<string, Type>()
  /** What each binding replaced, so that a failed assignment can be undone. */
  readonly #trail: { readonly name: string; readonly replaced: Type | undefined }[] = []
  #fresh = 0

  /** A parameter that stands for nothing yet. */
  fresh(): Type {
    return { kind: 'parameter', name: `%${this.#fresh++}` }
  }

  /** The type with its parameters replaced by what they stand for. */
  resolve(type: Type): Type {
    if (type.kind !== 'parameter') return withParts(type, (part) => this.resolve(part))
    const bound = this.#bound.get(type.name)
    return bound === undefined ? type : this.resolve(bound)
  }

  /** Whether values of these types fit, each into its target. Keeps what was learnt about parameters if all do. */
  assign(targets: readonly Type[], sources: readonly Type[]): boolean {
    const mark = this.#trail.length
    if (targets.length === sources.length && targets.every((target, i) => this.#fits(target, sources[i]!)))
      return true
    for (const { name, replaced } of this.#trail.splice(mark).reverse()) {
      if (replaced === undefined) this.#bound.delete(name)
      else this.#bound.set(name, replaced)
    }
    return false
  }

  /** The one of two types that the other fits into. */
  moreGeneral(one: Type, other: Type): Type {
    return lessSpecific(this.resolve(one), this.resolve(other)) ? one : other
  }

  #fits(target: Type, source: Type): boolean {
    const [to, from] = [this.#shallow(target), this.#shallow(source)]
    if (to.kind === 'parameter' && from.kind === 'parameter' && to.name === from.name) return true
    if (from.kind === 'parameter') return this.#bind(from.name, to)
    if (to.kind === 'parameter') return this.#bind(to.name, from)
    if (to.kind === 'dyn' || from.kind === 'dyn') {
      this.#generalize(target, from)
      return true
    }
    if (isNullable(to, from) || isNullable(from, to)) return true
    if (to.kind !== from.kind) return false
    if (to.kind === 'type') return true
    if (to.kind === 'object') return from.kind === 'object' && to.shape === from.shape
    if (to.kind === 'opaque' && (from.kind !== 'opaque' || to.name !== from.name)) return false
    const [inner, outer] = [partsOf(from), partsOf(to)]
    return inner.length === outer.length && outer.every((part, index) => this.#fits(part, inner[index]!))
  }

  /** A parameter that met dyn stays dyn, whatever it meets next. */
  #generalize(target: Type, type: Type): void {
    if (target.kind === 'parameter' && type.kind === 'dyn') this.#set(target.name, type)
  }

  #bind(name: string, type: Type): boolean {
    const resolved = this.resolve(type)
    if (mentions(resolved, name)) return false
    this.#set(name, resolved)
    return true
  }

  #set(name: string, type: Type): void {
    this.#trail.push({ name, replaced: this.#bound.get(name) })
    this.#bound.set(name, type)
  }

  #shallow(type: Type): Type {
    let current = type
    while (current.kind === 'parameter') {
      const bound = this.#bound.get(current.name)
      if (bound === undefined) return current
      current = bound
    }
    return current
  }
}

function mentions(type: Type, name: string): boolean {
  return type.kind === 'parameter' ? type.name === name : partsOf(type).some((part) => mentions(part, name))
}

/** Null is a value of the types that other systems send as messages. */
const isNullable = (type: Type, other: Type) =>
  other.kind === 'null_type' && ['duration', 'timestamp', 'object', 'opaque'].includes(type.kind)

function lessSpecific(type: Type, than: Type): boolean {
  if (type.kind === 'dyn' || type.kind === 'parameter') return true
  if (than.kind === 'dyn' || than.kind === 'parameter') return false
  if (than.kind === 'null_type') return true
  if (type.kind !== than.kind) return false
  const [one, other] = [partsOf(type), partsOf(than)]
  return one.length === 0
    ? typeText(type) === typeText(than)
    : one.every((part, index) => lessSpecific(part, other[index]!))
}
