/** A fatal error with a message for the user; `code` is the exit code. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
  readonly code: number

  constructor(message: string, code = 1) {
    super(message)
    this.code = code
  }
}

/** Prints a fatal error; wrappers look for the prefix on every line. */
export function printFailure(message: string, write: (text: string) => void): void {
  for (const line of message.trimEnd().split('\n')) write(`ERROR:  ${line}\n`)
}
