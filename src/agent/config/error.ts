/** A configuration that cannot be used: one sentence for each thing to mend. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly messages: readonly string[]

  constructor(messages: readonly string[]) {
    super(messages.join('\n'))
    this.messages = messages
  }
}
