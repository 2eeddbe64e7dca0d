/** An invalid tunnel definition; the message tells its author what to change. */
export class SpecError extends Error {
  override name = 'SpecError'
  /** The key to change. */
  readonly key: string

  constructor(key: string, message: string) {
    super(message)
    this.key = key
  }
}
