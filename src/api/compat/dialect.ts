export type Body = Readonly<Record<string, unknown>>

/** Why a call failed. */
export interface Failure {
  readonly status: number
  readonly code: number
}

/** An operation's answer before it is written. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/**
 * How a client speaks to the API: how its requests are read, and how they are answered. The clients of the original service
 * speak otherwise than ours, and nothing outside of this folder knows the differences.
 */
export interface ClientDialect {
  readonly versionHeader: string
  readonly operationIdHeader: string
  readonly errorPrefix: string
  /** Whether an operation that takes no body rejects one. */
  readonly rejectsBodies: boolean

  /** Request in: the URL by native names. */
  readUrl(url: string): string
  /** Whether whatever is sent to this path is left unread. */
  ignoresBody(path: string): boolean
  /** The body by native names. `path` is the one that was requested. */
  readBody(method: string, path: string, body: unknown): unknown
  /** What a write stores beside the record, for `shownBeside`. */
  storedBeside(write: 'create' | 'update', kind: string, body: Body): { left_out?: string[] }

  /** Response out: fields of a record that this client is shown otherwise. */
  shownBeside(record: Body): Body
  statusOf(failure: Failure): number
  /** `path` is the one that was requested, `ownerId` the caller. */
  write(answer: Answer, request: { readonly path: string; readonly ownerId: string }): Answer
}

const NOTHING = {}

/** The dialect of Adit's own clients. */
export const NATIVE: ClientDialect = {
  versionHeader: 'service-version',
  operationIdHeader: 'adit-operation-id',
  errorPrefix: 'ERR_ADIT',
  rejectsBodies: true,
  readUrl: (url) => url,
  ignoresBody: () => false,
  readBody: (_method, _path, body) => body,
  storedBeside: () => NOTHING,
  shownBeside: () => NOTHING,
  statusOf: ({ status }) => status,
  write: (answer) => answer,
}
