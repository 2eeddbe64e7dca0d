/** An end of the program with a sentence for the user; `code` is the exit code. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
  readonly code: number

  constructor(message: string, code = 1) {
    super(message)
    this.code = code
  }
}

/** Every line of a fatal error begins so, which wrappers look for. */
export function printFailure(message: string, write: (text: string) => void): void {
  for (const line of message.trimEnd().split('\n')) write(`ERROR:  ${line}\n`)
}
