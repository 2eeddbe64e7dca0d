import { timingSafeEqual } from 'node:crypto'
import { hasAtMostValues } from '../../base/json-size.ts'
import { refusal } from '../errors.ts'
import type { Exchange } from '../exchange.ts'

/** No sender has that many, and reading and sorting them comes before the signature can be checked. */
const MAX_FORM_PARAMETERS = 1000
const MAX_JSON_VALUES = 20_000

/** A webhook as schemes look at it: what was asked for, with the whole body. */
export class WebhookMessage {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** The address it was sent to, as its sender knows it. */
  readonly url: string
  readonly body: Buffer
  readonly #exchange: Exchange

  constructor(exchange: Exchange, body: Buffer) {
    const { head, connection } = exchange
    this.#exchange = exchange
    this.method = head.method
    this.target = head.target
    this.url = `${connection.scheme}://${head.authority}${head.target}`
    this.body = body
  }

  /** The value of a field that must be there once; twice could mean one thing to us and another to the upstream. */
  field(name: string): string | undefined {
    const all = this.#exchange.fields.getAll(name)
    return all.length === 1 ? all[0] : undefined
  }

  /** The parameters of a form, in the body. Throws when there are too many: without them a signature means less. */
  form(): [name: string, value: string][] {
    const type = this.field('content-type') ?? ''
    if (!/^application\/x-www-form-urlencoded[ \t]*(;|$)/i.test(type)) return []
    const text = this.body.toString()
    if (text.split('&', MAX_FORM_PARAMETERS + 1).length > MAX_FORM_PARAMETERS)
      throw refusal('webhook_denied', `its form has more than ${MAX_FORM_PARAMETERS} parameters`)
    return [...new URLSearchParams(text)]
  }

  /** The body as JSON; undefined when it is none, or has more values than any webhook. */
  json(): unknown {
    const text = this.body.toString()
    if (!hasAtMostValues(text, MAX_JSON_VALUES)) return undefined
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  }

  /** A parameter of the query. */
  query(name: string): string | undefined {
    const queryStart = this.target.indexOf('?')
    return queryStart === -1
      ? undefined
      : (new URLSearchParams(this.target.slice(queryStart + 1)).get(name) ?? undefined)
  }
}

/** Compares texts in a time that tells nothing of where they differ. */
export function timingSafeEqualText(a: string, b: string): boolean {
  const bytesA = Buffer.from(a)
  const bytesB = Buffer.from(b)
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB)
}
