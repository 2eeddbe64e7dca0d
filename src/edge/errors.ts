import { type EdgeErrorName, type ErrorPageTexts, errorKinds } from './error-kinds.ts'

export type { EdgeErrorName } from './error-kinds.ts'

type ErrorParams<N extends EdgeErrorName> = Parameters<(typeof errorKinds)[N]['text']>

/** A link of an error page. */
export interface ErrorLink {
  readonly text: string
  readonly url: string
}

/** Why the edge rejected a request or connection. Not an `Error`: rejecting is routine and needs no stack trace. */
export class EdgeError {
  readonly name: EdgeErrorName
  readonly text: string
  /** Seconds after which a retry makes sense; sent as `Retry-After` where one does. */
  retryAfter = 5
  /** True when the connection is closed without a response. */
  closesConnection = false
  /** The name that browsers show when they ask for a password. */
  realm = 'adit'
  /** What the owner can change, where more is known than the name of the error says. */
  ownerStep: string | undefined
  /** Where the visitor can go on. */
  links: readonly ErrorLink[] = []
  /** The upstream that failed. Its address is private: it goes to the log, never to the client. */
  upstream: string | undefined

  constructor(name: EdgeErrorName, text: string) {
    this.name = name
    this.text = text
  }

  /** Sets the seconds after which a retry makes sense. */
  withRetryAfter(seconds: number): this {
    this.retryAfter = seconds
    return this
  }

  /** Closes the connection without a response. */
  closingConnection(): this {
    this.closesConnection = true
    return this
  }

  /** Sets the name that browsers show when they ask for a password. */
  withRealm(realm: string): this {
    this.realm = realm
    return this
  }

  /** Says what the owner can change. */
  withOwnerStep(ownerStep: string): this {
    this.ownerStep = ownerStep
    return this
  }

  /** Adds where the visitor can go on. */
  withLinks(links: readonly ErrorLink[]): this {
    this.links = links
    return this
  }

  /** Names the upstream that failed. */
  withUpstream(upstream: string): this {
    this.upstream = upstream
    return this
  }

  /** What the page says besides the message. */
  get page(): ErrorPageTexts {
    const page: ErrorPageTexts = errorKinds[this.name].page
    return this.ownerStep === undefined ? page : { ...page, owner: this.ownerStep }
  }

  get status(): number {
    return errorKinds[this.name].status
  }

  /** The public code, such as `ERR_ADIT_3200`, in the header and on the page. */
  get code(): string {
    return `ERR_ADIT_${errorKinds[this.name].code}`
  }
}

/** Creates an error to throw; a wrong name or a missing parameter does not compile. */
export function edgeError<N extends EdgeErrorName>(name: N, ...params: ErrorParams<N>): EdgeError {
  const text = errorKinds[name].text as (...params: readonly string[]) => string
  return new EdgeError(name, text(...params))
}
