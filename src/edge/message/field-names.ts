/** What a field means to the edge; everything without a meaning is passed on as it is. */
export const Meaning = {
  none: 0,
  /** Never passed on: it belongs to one hop, or only the edge may say it. */
  drop: 1,
  host: 2,
  connection: 3,
  contentLength: 4,
  transferEncoding: 5,
  upgrade: 6,
  expect: 7,
  te: 8,
} as const
export type Meaning = (typeof Meaning)[keyof typeof Meaning]

const HOP_BY_HOP_FIELDS: [string, Meaning][] = [
  ['connection', Meaning.connection],
  ['content-length', Meaning.contentLength],
  ['transfer-encoding', Meaning.transferEncoding],
  ['upgrade', Meaning.upgrade],
  ['te', Meaning.te],
  ['keep-alive', Meaning.drop],
  ['trailer', Meaning.drop],
]

/**
 * Field names with a meaning, found without looking at every name: most are told apart by first letter and length.
 */
export class FieldNames {
  readonly #kinds: ReadonlyMap<string, Meaning>
  readonly #prefixes: readonly string[]
  /** For each first letter a bit for each length (31 for longer) that some name of meaning has. */
  readonly #lengths = new Int32Array(256)

  constructor(kinds: readonly (readonly [string, Meaning])[], prefixes: readonly string[]) {
    this.#kinds = new Map(kinds)
    this.#prefixes = prefixes
    for (const [name] of kinds) this.#mark(name.charCodeAt(0), 1 << Math.min(name.length, 31))
    for (const prefix of prefixes) this.#mark(prefix.charCodeAt(0), -1 << Math.min(prefix.length, 31))
  }

  /** False when a name with this first character and length cannot mean anything. */
  mayBeSpecial(first: number, length: number): boolean {
    return (this.#lengths[first]! & (1 << Math.min(length, 31))) !== 0
  }

  /** The meaning of a lower-case name. */
  kindOf(name: string): Meaning {
    const kind = this.#kinds.get(name)
    if (kind !== undefined) return kind
    const first = name.charCodeAt(0)
    for (const prefix of this.#prefixes) {
      if (prefix.charCodeAt(0) === first && name.startsWith(prefix)) return Meaning.drop
    }
    return Meaning.none
  }

  /**
   * True for a name that some upstream would take for one with a meaning, because it folds `_`, `.` and the like into
   * a hyphen (P27). Such a field is dropped, never read.
   */
  isLookalike(name: string): boolean {
    return this.kindOf(name.replace(/[^0-9a-z]/g, '-')) !== Meaning.none
  }

  #mark(first: number, bits: number): void {
    this.#lengths[first]! |= bits
    this.#lengths[first - 32]! |= bits
  }
}

/**
 * Fields that only the edge may set on a request: where it came from and who sent it. The names of the original service
 * are among them because upstreams written for it trust them.
 */
const TRUSTED_PREFIXES = ['x-forwarded-', 'adit-', 'ngrok-auth-', 'ngrok-mtls-', 'proxy-']

/**
 * Fields that upstreams take for a proxy's word about the visitor's address or about which resource is meant, and `Proxy`,
 * which CGI programs find as HTTP_PROXY. Whoever needs one adds it by `request_headers`.
 */
const UNVERIFIED_FIELDS = [
  'x-real-ip',
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

export const requestNames = new FieldNames(
  [
    ...HOP_BY_HOP_FIELDS,
    ['host', Meaning.host],
    ['expect', Meaning.expect],
    ['forwarded', Meaning.drop],
    ['x-forwarded', Meaning.drop],
    ['http2-settings', Meaning.drop],
    ...UNVERIFIED_FIELDS.map((name): [string, Meaning] => [name, Meaning.drop]),
  ],
  TRUSTED_PREFIXES,
)

export const responseNames = new FieldNames(HOP_BY_HOP_FIELDS, ['proxy-'])
