/** A number or boolean of a YAML document with its source text: `007` may be meant as a name. */
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

  /** Documents that are passed on, such as policies, keep their numbers and booleans. */
  toJSON(): unknown {
    return typeof this.value === 'bigint' ? Number(this.value) : this.value
  }
}

/** The value without its source text. */
export function toPlainValue(value: unknown): unknown {
  return value instanceof SourceScalar ? value.value : value
}
