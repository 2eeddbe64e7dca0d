/** The error of a request: a sentence for people and a number for programs. */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
  /** Undefined when the error has no number. */
  readonly number: number | undefined

  constructor(message: string, number?: number) {
    super(message)
    this.number = number
  }

  /** `ERR_ADIT_…`, or undefined. */
  get code(): string | undefined {
    return this.number === undefined ? undefined : `ERR_ADIT_${this.number}`
  }

  /** The sentence for people, with the code on a line of its own. */
  get text(): string {
    return appendCodeLine(this.message, this.code)
  }

  /** The text of a response's `Error` field, whose code has the pattern that the official SDKs recognise (decision 167). */
  get wireText(): string {
    return appendCodeLine(this.message, this.code?.replace('ERR_ADIT_', 'ERR_NGROK_'))
  }
}

function appendCodeLine(message: string, code: string | undefined): string {
  return code === undefined ? message : `${message}\n\n${code}\n`
}

const CODE_LINE = /^ERR_(?:NGROK|ADIT)_(\d+)$/

/** Parses the `Error` field of a response; the counterpart of `ProtocolError.wireText`. */
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

/** The native form of a code in a message: that of an `ErrorCode` field. */
export function toNativeCode(code: string | undefined): string | undefined {
  return code?.replace(/^ERR_NGROK_/, 'ERR_ADIT_')
}
