/**
 * The error of a request: a sentence for people and a number for programs. The code has the pattern that the official
 * SDKs recognise.
 */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
  /** Undefined when the error has no number. */
  readonly number: number | undefined

  constructor(message: string, number?: number) {
    super(message)
    this.number = number
  }

  /** `ERR_NGROK_…`, or undefined. */
  get code(): string | undefined {
    return this.number === undefined ? undefined : `ERR_NGROK_${this.number}`
  }

  /** The text of a response's `Error` field, with the code on a line of its own. */
  get text(): string {
    return this.code === undefined ? this.message : `${this.message}\n\n${this.code}\n`
  }
}

const CODE_LINE = /^ERR_NGROK_(\d+)$/

/** Parses the `Error` field of a response; the counterpart of `ProtocolError.text`. */
export function parseProtocolError(text: string): ProtocolError {
  const lines: string[] = []
  let number: number | undefined
  for (const line of text.split('\n')) {
    const trimmed = line.trim()
    const code = CODE_LINE.exec(trimmed)?.[1]
    if (code !== undefined) number = Number(code)
    else if (trimmed !== '') lines.push(trimmed)
  }
  return new ProtocolError(lines.join('\n') || 'The server rejected the request without a reason.', number)
}
