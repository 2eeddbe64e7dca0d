/** The way from the root of a document to a value: keys and indexes. */
export type DocumentPath = readonly (string | number)[]

/** A mistake in a policy. */
export interface PolicyIssue {
  /** The number of the original service for this kind of mistake. */
  readonly code: number
  /** A sentence without the place. */
  readonly message: string
  readonly path: DocumentPath
  /** The name of the rule and the type of the action that it is in, if they have one. */
  readonly rule?: string | undefined
  readonly action?: string | undefined
  /** Where it is in the text, counted from 1; undefined for a mistake of the document as a whole. */
  readonly line: number | undefined
}

/** Mistakes that one error names. */
const MAX_SHOWN_ISSUES = 20

/** The mistakes of one policy. Only those that are shown are located, which takes a search of the document each. */
export class PolicyIssues {
  count = 0
  readonly #shown: PolicyIssue[] = []

  add(create: () => PolicyIssue): void {
    if (this.count++ < MAX_SHOWN_ISSUES) this.#shown.push(create())
  }

  throwIfAny(): void {
    if (this.count > 0) throw new PolicyError(this.#shown, this.count)
  }
}

/** A policy that cannot be used. The message names the first mistake and its place. */
export class PolicyError extends Error {
  override name = 'PolicyError'
  /** The first ones. */
  readonly issues: readonly PolicyIssue[]
  /** How many further mistakes there are. */
  readonly more: number

  constructor(issues: readonly PolicyIssue[], count = issues.length) {
    super(issueText(issues[0]!))
    this.issues = issues
    this.more = count - issues.length
  }

  get code(): number {
    return this.issues[0]!.code
  }

  /** A line for each mistake: people correct a file, and would otherwise learn of them one by one. */
  get lines(): string[] {
    const shown = this.issues.map(issueText)
    return this.more > 0 ? [...shown, `and ${this.more} more`] : shown
  }
}

/** A mistake with its place: `on_http_request, rule 2 "old", action 1 (deny), config.status_code: it must be … (line 7)`. */
export function issueText({ path, message, line, rule, action }: PolicyIssue): string {
  const location = locationText(path, rule, action)
  return `${location === '' ? '' : `${location}: `}${message}${line === undefined ? '' : ` (line ${line} of the policy)`}`
}

const NOUNS: Readonly<Record<string, string>> = {
  expressions: 'expression',
  actions: 'action',
  Expressions: 'expression',
  Actions: 'action',
}

/** Rules, expressions and actions are counted from 1, as people count; fields below keep their own notation. */
function locationText([phase, rule, ...rest]: DocumentPath, name = '', action = ''): string {
  if (phase === undefined) return ''
  const parts = [String(phase)]
  if (rule !== undefined)
    parts.push(typeof rule === 'number' ? `rule ${rule + 1}${name === '' ? '' : ` "${name}"`}` : rule)
  const [list, index, ...field] = rest
  if (typeof list === 'string' && typeof index === 'number' && Object.hasOwn(NOUNS, list))
    parts.push(`${NOUNS[list]} ${index + 1}${action === '' ? '' : ` (${action})`}`)
  else field.unshift(...rest.slice(0, 2))
  if (field.length > 0) parts.push(fieldText(field))
  return parts.join(', ')
}

function fieldText(field: DocumentPath): string {
  return field.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  )
}
