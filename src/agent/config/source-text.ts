/** A value that YAML reads as a number or a boolean, with the text it was written as: `007` may be meant as a name. */
export class SourceScalar {
  readonly value: number | bigint | boolean
  readonly source: string

  constructor(value: number | bigint | boolean, source: string) {
    this.value = value
    this.source = source
  }

  toString(): string {
    return this.source
  }

  /** Documents that are only carried, such as policies, keep their numbers and booleans. */
  toJSON(): unknown {
    return typeof this.value === 'bigint' ? Number(this.value) : this.value
  }
}

/** The value itself, whether or not its text came with it. */
export function toPlainValue(value: unknown): unknown {
  return value instanceof SourceScalar ? value.value : value
}
