import { timingSafeEqual } from 'node:crypto'
import { hasAtMostValues } from '../../base/text/json-size.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { edgeError } from '../errors.ts'

/** No provider sends that many, and they are parsed and sorted before the signature can be verified. */
const MAX_FORM_PARAMETERS = 1000
const MAX_JSON_VALUES = 20_000

/** A webhook as the schemes see it: the request with its complete body. */
export class WebhookMessage {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** The URL it was sent to, as the sender sees it. */
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

  /** The value of a field that must occur exactly once: the upstream might read another one of two. */
  field(name: string): string | undefined {
    const all = this.#exchange.fields.getAll(name)
    return all.length === 1 ? all[0] : undefined
  }

  /** The parameters of a form body. Throws when there are too many: a signature without them would cover less. */
  form(): [name: string, value: string][] {
    const type = this.field('content-type') ?? ''
    if (!/^application\/x-www-form-urlencoded[ \t]*(;|$)/i.test(type)) return []
    const text = this.body.toString()
    if (text.split('&', MAX_FORM_PARAMETERS + 1).length > MAX_FORM_PARAMETERS)
      throw edgeError('webhook_denied', `its form has more than ${MAX_FORM_PARAMETERS} parameters`)
    return [...new URLSearchParams(text)]
  }

  /** The body as JSON; undefined when it is not JSON or has more values than any webhook. */
  json(): unknown {
    const text = this.body.toString()
    if (!hasAtMostValues(text, MAX_JSON_VALUES)) return undefined
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  }

  /** A query parameter. */
  query(name: string): string | undefined {
    const queryStart = this.target.indexOf('?')
    return queryStart === -1
      ? undefined
      : (new URLSearchParams(this.target.slice(queryStart + 1)).get(name) ?? undefined)
  }
}

/** Compares texts in constant time. */
export function timingSafeEqualText(a: string, b: string): boolean {
  const bytesA = Buffer.from(a)
  const bytesB = Buffer.from(b)
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB)
}
