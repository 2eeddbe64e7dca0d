/** An unusable configuration, with a message for each problem. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly messages: readonly string[]

  constructor(messages: readonly string[]) {
    super(messages.join('\n'))
    this.messages = messages
  }
}
