import { inspect } from 'node:util'

/** A value that prints as `[hidden]` wherever it is logged, inspected, interpolated or serialised. */
export class Secret<T = string> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  /** The value. This is the only access, so that every use can be found by name. */
  reveal(): T {
    return this.#value
  }

  toString(): string {
    return '[hidden]'
  }

  toJSON(): string {
    return '[hidden]'
  }

  [inspect.custom](): string {
    return '[hidden]'
  }
}
