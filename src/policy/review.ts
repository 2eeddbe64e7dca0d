import { type Inspect, type Read, readsOf } from '../cel/index.ts'
import type { Action } from './actions/define.ts'
import { actions } from './actions/index.ts'
import { FACT_KINDS, type FactKind } from './ip-data/ip-data.ts'
import type { DocumentPath } from './issue.ts'

/** What a review finds: `mistake` when an expression can never do what it says, `warning` when that depends. */
export interface Finding {
  readonly severity: 'mistake' | 'warning'
  readonly message: string
  readonly path: DocumentPath
}

/** What a review names. */
const MAX_FINDINGS = 100

/** Fields of addresses, by the kinds of facts of which one is enough. */
const FACT_FIELDS: Readonly<Record<string, readonly FactKind[]>> = {
  categories: ['categories'],
  is_on_blocklist: ['categories'],
  is_tor_node: ['tor', 'categories'],
  as: ['as'],
  geo: ['location'],
}

/** Maps of header fields, whose names are in lower case when a macro goes through them. */
const isHeaders = (map: string) => /(?:^re[qs]\.headers|\.header|\.headers_added)$/.test(map)

/**
 * Looks for what is valid and yet may not do what it says: expressions that read a result that no action before sets, a key
 * that may be missing, a fact that the server has no data for, and configurations that their action warns of. Called in the order in which a policy is evaluated.
 */
export class PolicyReviewer {
  readonly findings: Finding[] = []
  readonly #knownFacts: ReadonlySet<FactKind> | undefined
  readonly #executed = new Set<string>()
  /** Keys that were asked for or set in this phase, as `map key`. */
  #knownKeys = new Set<string>()
  #reported = new Set<string>()

  constructor(knownFacts?: ReadonlySet<FactKind>) {
    this.#knownFacts = knownFacts
  }

  startPhase(): void {
    this.#knownKeys = new Set()
  }

  startRule(): void {
    this.#reported = new Set()
  }

  /** Reviews the expressions of a rule together: one may ask what another reads. */
  reviewTogether(
    expressions: readonly { readonly reads: readonly Read[]; readonly path: DocumentPath }[],
  ): void {
    for (const { reads } of expressions) this.#learn(reads)
    for (const { reads, path } of expressions) for (const read of reads) this.#review(read, path)
  }

  /** Reviews expressions in the configuration of an action as they are read. */
  inspect(path: DocumentPath): Inspect {
    return (expr, checked) => this.reviewTogether([{ reads: readsOf(expr, checked), path }])
  }

  /** From here on the action may have been executed. */
  execute({ type, resultName, results }: Action, config: unknown): void {
    if (Object.keys(results).length > 0) this.#executed.add(resultName)
    if (type === 'set-vars')
      for (const { name } of (config as { vars?: { name: string }[] }).vars ?? [])
        this.#knownKeys.add(`vars ${name}`)
  }

  /** Asks the action about a configuration without mistakes. */
  reviewConfig({ warningOf }: Action, config: unknown, path: DocumentPath): void {
    const warning = warningOf(config)
    if (warning !== undefined) this.#report('warning', path, warning)
  }

  #learn(reads: readonly Read[]): void {
    for (const read of reads) if (read.kind === 'question') this.#knownKeys.add(keyOf(read))
  }

  #review(read: Read, path: DocumentPath): void {
    if (read.kind === 'field') this.#reviewField(read, path)
    if (read.kind === 'key' && !this.#knownKeys.has(keyOf(read)) && !isAlwaysThere(read))
      this.#report('warning', path, missingKey(read))
    if (read.kind === 'comparison' && isHeaders(read.map) && read.text !== read.text.toLowerCase())
      this.#report(
        'mistake',
        path,
        `the names in ${read.map} are in lower case, so that none is "${read.text}"; write "${read.text.toLowerCase()}"`,
      )
  }

  #reviewField({ shape, field }: Read & { kind: 'field' }, path: DocumentPath): void {
    if (shape === 'actions.ngrok' && !this.#executed.has(field)) {
      const types = actions.filter(({ resultName }) => resultName === field).map(({ type }) => type)
      this.#report(
        'mistake',
        path,
        `it reads actions.ngrok.${field}, but no ${types.join(' or ')} action comes before it`,
      )
    }
    const kinds =
      shape === 'address'
        ? FACT_FIELDS[field]
        : shape === 'conn' && field === 'geo'
          ? FACT_FIELDS.geo
          : undefined
    if (kinds?.every((kind) => this.#knownFacts?.has(kind) === false))
      this.#report(
        'warning',
        path,
        `it reads ${field} of an address, which is empty without IP data about ${FACT_KINDS[kinds[0]!]}`,
      )
  }

  /** Says the same of a rule once. */
  #report(severity: Finding['severity'], path: DocumentPath, message: string): void {
    if (this.findings.length === MAX_FINDINGS || this.#reported.has(message)) return
    this.#reported.add(message)
    this.findings.push({ severity, message, path })
  }
}

const keyOf = ({ map, key }: { readonly map: string; readonly key: string }) =>
  `${map} ${isHeaders(map) ? key.toLowerCase() : key}`

/** Every request names its host. */
const isAlwaysThere = ({ map, key }: { readonly map: string; readonly key: string }) =>
  map === 'req.headers' && key.toLowerCase() === 'host'

const missingKey = ({ map, key, text }: Read & { kind: 'key' }) =>
  map === 'vars'
    ? `it reads ${text}, which nothing before sets in this phase`
    : `it reads ${text}, which fails when there is none; ask with "'${key}' in ${map}" first`
