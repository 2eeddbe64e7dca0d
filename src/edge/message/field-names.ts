import { CLIENT_FIELDS } from '../../base/http/forwarded.ts'

/** How the edge treats a field; fields of kind `none` are forwarded unchanged. */
export const FieldKind = {
  none: 0,
  /** Never forwarded: a hop-by-hop field, or one that only the edge may set. */
  drop: 1,
  host: 2,
  connection: 3,
  contentLength: 4,
  transferEncoding: 5,
  upgrade: 6,
  expect: 7,
  te: 8,
  /** Never forwarded, but read where a trusted proxy sent it. */
  forwarding: 9,
} as const
export type FieldKind = (typeof FieldKind)[keyof typeof FieldKind]

const HOP_BY_HOP_FIELDS: [string, FieldKind][] = [
  ['connection', FieldKind.connection],
  ['content-length', FieldKind.contentLength],
  ['transfer-encoding', FieldKind.transferEncoding],
  ['upgrade', FieldKind.upgrade],
  ['te', FieldKind.te],
  ['keep-alive', FieldKind.drop],
]

/**
 * The special field names of requests or responses. `mayBeSpecial` rules most names out by first letter and length: without
 * it, parsing the head of a browser (13 fields) takes 1.4 times as long, mostly for the lower-case copies of the names.
 */
export class FieldNames {
  readonly #kinds: ReadonlyMap<string, FieldKind>
  readonly #prefixes: readonly string[]
  /** For each first letter, a bit per length (31 for longer) of its special names. */
  readonly #lengths = new Int32Array(256)

  constructor(kinds: readonly (readonly [string, FieldKind])[], prefixes: readonly string[]) {
    this.#kinds = new Map(kinds)
    this.#prefixes = prefixes
    for (const [name] of kinds) this.#mark(name.charCodeAt(0), 1 << Math.min(name.length, 31))
    for (const prefix of prefixes) this.#mark(prefix.charCodeAt(0), -1 << Math.min(prefix.length, 31))
  }

  /** False when no special name has this first character and length, which spares most names the look-up (decision 151). */
  mayBeSpecial(first: number, length: number): boolean {
    return (this.#lengths[first]! & (1 << Math.min(length, 31))) !== 0
  }

  /** The kind of a lower-case name. */
  kindOf(name: string): FieldKind {
    const kind = this.#kinds.get(name)
    if (kind !== undefined) return kind
    const first = name.charCodeAt(0)
    for (const prefix of this.#prefixes) {
      if (prefix.charCodeAt(0) === first && name.startsWith(prefix)) return FieldKind.drop
    }
    return FieldKind.none
  }

  /**
   * True for a name that some upstreams would take for a special one, because they fold `_`, `.` and the like into a
   * hyphen (P27, decision 41). Such a field is dropped, never parsed.
   */
  isLookalike(name: string): boolean {
    return this.kindOf(name.replace(/[^0-9a-z]/g, '-')) !== FieldKind.none
  }

  #mark(first: number, bits: number): void {
    this.#lengths[first]! |= bits
    this.#lengths[first - 32]! |= bits
  }
}

/**
 * Fields that only the edge may set on a request: where it came from and who sent it. They include the names of the
 * original service, because upstreams written for it trust them.
 */
const TRUSTED_PREFIXES = ['x-forwarded-', 'adit-', 'ngrok-auth-', 'ngrok-mtls-', 'proxy-']

/**
 * Fields by which upstreams let a proxy state the client's address or override the requested resource, and `Proxy`, which
 * CGI programs read as HTTP_PROXY. An owner who needs one sets it with `request_headers` (decision 114).
 */
const UNVERIFIED_FIELDS = [
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-original-url',
  'x-original-uri',
  'x-original-host',
  'x-rewrite-url',
  'proxy',
]

/** Fields by which a proxy names the client of a request. */
const FORWARDING_FIELDS = [...CLIENT_FIELDS, 'x-forwarded-proto']

export const requestNames = new FieldNames(
  [
    ...HOP_BY_HOP_FIELDS,
    ['host', FieldKind.host],
    ['expect', FieldKind.expect],
    // Upstreams of HTTP/1.0 and CGI read no trailers.
    ['trailer', FieldKind.drop],
    ...FORWARDING_FIELDS.map((name): [string, FieldKind] => [name, FieldKind.forwarding]),
    ['x-forwarded', FieldKind.drop],
    ['http2-settings', FieldKind.drop],
    ...UNVERIFIED_FIELDS.map((name): [string, FieldKind] => [name, FieldKind.drop]),
  ],
  TRUSTED_PREFIXES,
)

export const responseNames = new FieldNames(HOP_BY_HOP_FIELDS, ['proxy-'])
