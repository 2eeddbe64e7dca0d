/** A tunnel definition that cannot be started as it stands; the message is a sentence for whoever wrote it. */
export class SpecError extends Error {
  override name = 'SpecError'
  /** The key of the definition to change. */
  readonly key: string

  constructor(key: string, message: string) {
    super(message)
    this.key = key
  }
}
