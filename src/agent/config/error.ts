/** A configuration that cannot be used: one sentence for each thing to mend. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly sentences: readonly string[]

  constructor(sentences: readonly string[]) {
    super(sentences.join('\n'))
    this.sentences = sentences
  }
}
