/** A tunnel definition that cannot be started as it stands; the message is a sentence for whoever wrote it. */
export class SpecError extends Error {
  override name = 'SpecError'
}
