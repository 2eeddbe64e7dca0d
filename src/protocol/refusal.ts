/**
 * A request answered with "no": a sentence for people and a number for programs. The pattern of the code is the one
 * that the official SDKs recognise.
 */
export class Refusal extends Error {
  override name = 'Refusal'
  /** Undefined when the peer gave a sentence without a number. */
  readonly number: number | undefined

  constructor(message: string, number?: number) {
    super(message)
    this.number = number
  }

  /** `ERR_NGROK_…`, or undefined. */
  get code(): string | undefined {
    return this.number === undefined ? undefined : `ERR_NGROK_${this.number}`
  }

  /** The form in which it travels in a response's `Error`. The code stands alone on its line. */
  get text(): string {
    return this.code === undefined ? this.message : `${this.message}\n\n${this.code}\n`
  }
}

const CODE_LINE = /^ERR_NGROK_(\d+)$/

/** Reads the `Error` text of a response; the counterpart of `Refusal.text`. */
export function parseProtocolError(text: string): Refusal {
  const lines: string[] = []
  let number: number | undefined
  for (const line of text.split('\n')) {
    const trimmed = line.trim()
    const code = CODE_LINE.exec(trimmed)?.[1]
    if (code !== undefined) number = Number(code)
    else if (trimmed !== '') lines.push(trimmed)
  }
  return new Refusal(lines.join('\n') || 'The server refused without a reason.', number)
}
