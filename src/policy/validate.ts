import { findNearest } from '../base/values/nearest.ts'
import type { Program } from '../cel/index.ts'
import { type Condition, compileCondition, type Inspect, type Read, readsOf } from '../cel/index.ts'
import type { Action } from './actions/define.ts'
import { actions } from './actions/index.ts'
import type { FieldContext } from './config.ts'
import { type ActionSource, type PolicyDocument, type RuleSource, readDocument } from './document.ts'
import type { PolicyErrorName } from './error-codes.ts'
import type { FactKind } from './ip-data/ip-data.ts'
import { type DocumentPath, type PolicyIssue, PolicyIssues } from './issue.ts'
import { type Attachment, isHttp, PHASES, type PhaseName } from './phases.ts'
import { type Finding, PolicyReviewer } from './review.ts'
import type { Template } from './template.ts'
import { environments } from './variables/index.ts'

/** A policy that can be used. */
export interface Policy {
  readonly phases: Readonly<Partial<Record<PhaseName, readonly PolicyRule[]>>>
}

export interface PolicyRule {
  readonly name: string
  /** All of them have to be true; none means always. */
  readonly conditions: readonly Program[]
  /** The conditions as they are written. */
  readonly expressions: readonly string[]
  readonly actions: readonly PolicyAction[]
}

export interface PolicyAction {
  readonly action: Action
  /** As the action's declaration reads it. */
  readonly config: unknown
  /** The configuration as it is written. */
  readonly source: unknown
}

/** Reads and checks a policy. Throws `PolicyError` with every mistake that was found. */
export function readPolicy(text: string, attachment: Attachment): Policy {
  return new Validator(readDocument(text, attachment), attachment).validate()
}

/** What a policy is, and what in it may not do what its author expects. */
export interface PolicyReview {
  readonly policy: Policy
  /** Expressions that can never do what they say. Policies that are stored keep working: what they guard is rejected. */
  readonly mistakes: readonly PolicyIssue[]
  readonly warnings: readonly PolicyIssue[]
}

/**
 * Reads a policy and reviews its expressions, for a server that has facts of these kinds, if that is known. Throws
 * `PolicyError`.
 */
export function reviewPolicy(
  text: string,
  attachment: Attachment,
  knownFacts?: ReadonlySet<FactKind>,
): PolicyReview {
  const document = readDocument(text, attachment)
  const reviewer = new PolicyReviewer(knownFacts)
  const policy = new Validator(document, attachment, reviewer).validate()
  const findings = (level: Finding['severity']) =>
    reviewer.findings
      .filter(({ severity }) => severity === level)
      .map(({ message, path }) => document.issue('invalid_expression', message, path))
  return { policy, mistakes: findings('mistake'), warnings: findings('warning') }
}

/** The mistake that a policy names an IP policy which does not exist, at the place where it does. */
export function unknownIpPolicy(text: string, attachment: Attachment, id: string): PolicyIssue {
  const document = readDocument(text, attachment)
  const paths = Object.values(document.phases).flatMap((rules) =>
    rules.flatMap(({ actions: sources }) =>
      sources.flatMap(({ config, path }) => {
        const ids = (config as { ip_policies?: unknown } | null)?.ip_policies
        const index = Array.isArray(ids) ? ids.indexOf(id) : -1
        return index === -1 ? [] : [[...path, 'config', 'ip_policies', index]]
      }),
    ),
  )
  return document.issue('unknown_ip_policy', `there is no IP policy ${id} in this account`, paths[0] ?? [])
}

/** Whether an action ends its phase whenever it runs. */
const endsPhase = ({ action, config }: PolicyAction): boolean =>
  action.ends === 'always' && !action.continues(config)

/** A condition, and what it reads where that is reviewed. */
interface ReadCondition {
  readonly condition: Condition
  readonly reads: readonly Read[]
}

class Validator {
  readonly #document: PolicyDocument
  readonly #attachment: Attachment
  readonly #issues = new PolicyIssues()
  readonly #conditions = new Map<string, ReadCondition>()
  readonly #templates = new Map<string, Template>()
  #signIn: string | undefined
  readonly #applied = new Set<string>()
  readonly #reviewer: PolicyReviewer | undefined

  constructor(document: PolicyDocument, attachment: Attachment, reviewer?: PolicyReviewer) {
    this.#document = document
    this.#attachment = attachment
    this.#reviewer = reviewer
  }

  validate(): Policy {
    const phases: Partial<Record<PhaseName, readonly PolicyRule[]>> = {}
    for (const phase of PHASES) {
      const rules = this.#document.phases[phase]
      if (rules === undefined || rules.length === 0) continue
      this.#reviewer?.startPhase()
      this.#checkPhase(phase, rules[0]!.path.slice(0, 1))
      phases[phase] = rules.map((rule) => this.#readRule(rule, phase))
    }
    if (this.#issues.count === 0) this.#checkEnd(phases)
    this.#issues.throwIfAny()
    return { phases }
  }

  /** A cloud endpoint has no upstream: what its policy does not end would have no response. */
  #checkEnd(phases: Policy['phases']): void {
    const [phase, traffic] = isHttp(this.#attachment)
      ? (['on_http_request', 'request'] as const)
      : (['on_tcp_connect', 'connection'] as const)
    // An HTTP connection that is forwarded as a whole has no requests here.
    const rules = [...(phases.on_tcp_connect ?? []), ...(phases[phase] ?? [])]
    const ends = rules.some(({ conditions, actions }) => conditions.length === 0 && actions.some(endsPhase))
    if (this.#attachment.kind === 'cloud' && !ends)
      this.#report(
        'unended_request',
        `it does not end every ${traffic}: a rule without expressions needs an action such as ${traffic === 'request' ? 'custom-response, ' : ''}deny or forward-internal`,
        [phase],
      )
  }

  #checkPhase(phase: PhaseName, path: DocumentPath): void {
    const { protocol, kind } = this.#attachment
    if (!isHttp(this.#attachment) && phase !== 'on_tcp_connect')
      this.#report(
        'phase_of_other_protocol',
        `${phase} is not a phase of ${protocol} endpoints; use on_tcp_connect`,
        path,
      )
    if (kind === 'route' && phase === 'on_tcp_connect')
      this.#report(
        'phase_not_of_routes',
        'a route of an HTTPS edge has no on_tcp_connect: its requests share connections',
        path,
      )
  }

  #readRule({ name, expressions, actions: sources, path }: RuleSource, phase: PhaseName): PolicyRule {
    this.#reviewer?.startRule()
    const reviewed: { readonly reads: readonly Read[]; readonly path: DocumentPath }[] = []
    const conditions = expressions.flatMap((source, index) => {
      const location = [...path, 'expressions', index]
      const { condition, reads } = this.#compile(source, phase)
      reviewed.push({ reads, path: location })
      if ('program' in condition) return [condition.program]
      this.#report('invalid_expression', condition.error, location)
      return []
    })
    this.#reviewer?.reviewTogether(reviewed)
    const read = sources.flatMap((source) => this.#readAction(source, phase))
    this.#checkAppliesToAll(read, expressions, path)
    const end = read.findIndex(endsPhase)
    const unreachable = end === -1 ? undefined : sources[end + 1]
    if (unreachable !== undefined && read.length === sources.length)
      this.#report(
        'unreachable_action',
        `it is never reached, because ${read[end]!.action.type} ends the rule`,
        unreachable.path,
      )
    return { name, conditions, expressions, actions: read }
  }

  /** Rules often repeat an expression, by an alias or in writing. */
  #compile(source: string, phase: PhaseName): ReadCondition {
    const key = `${phase} ${source}`
    let known = this.#conditions.get(key)
    if (known === undefined) {
      let reads: readonly Read[] = []
      const inspect: Inspect = (expr, checked) => {
        reads = readsOf(expr, checked)
      }
      const condition = compileCondition(source, environments[phase], this.#reviewer && inspect)
      known = { condition, reads }
      this.#conditions.set(key, known)
    }
    return known
  }

  #checkAppliesToAll(
    read: readonly PolicyAction[],
    expressions: readonly string[],
    path: DocumentPath,
  ): void {
    for (const { action } of read) {
      if (!action.appliesToAll) continue
      if (expressions.length > 0)
        this.#report(
          'wrong_type',
          `${action.type} applies to all connections: put it into a rule without expressions`,
          [...path, 'expressions'],
        )
      if (this.#applied.has(action.type))
        this.#report('duplicate_entry', `a policy has one ${action.type} at most`, path)
      this.#applied.add(action.type)
    }
  }

  #readAction({ type, config, path }: ActionSource, phase: PhaseName): PolicyAction[] {
    const action = actions.find((candidate) => candidate.type === type || candidate.aliases.includes(type))
    if (action === undefined) {
      const near = findNearest(
        type,
        actions.map((candidate) => candidate.type),
      )
      const hint = near === undefined ? '' : `; did you mean ${near}?`
      this.#report('unknown_action', `there is no action "${type.slice(0, 60)}"${hint}`, path)
      return []
    }
    const { protocol } = this.#attachment
    if (!action.phases.includes(phase)) {
      this.#report(
        'wrong_phase',
        `${action.type} cannot be used in ${phase}, only in ${action.phases.join(', ')}`,
        path,
      )
      return []
    }
    if (action.protocols !== undefined && !action.protocols.includes(protocol))
      this.#report('wrong_protocol', `${action.type} cannot be used on ${protocol} endpoints`, path)
    if (action.signsIn) {
      if (this.#signIn !== undefined)
        this.#report(
          'several_sign_ins',
          `one action can sign visitors in, and ${this.#signIn} does so already`,
          path,
        )
      this.#signIn = action.type
    }
    const context = this.#contextOf([...path, 'config'], phase)
    const earlierIssues = this.#issues.count
    const read = action.config.read(config, context)
    if (this.#issues.count === earlierIssues) this.#reviewer?.reviewConfig(action, read, [...path, 'config'])
    this.#reviewer?.execute(action, read)
    return [{ action, config: read, source: config }]
  }

  #contextOf(path: DocumentPath, phase: PhaseName): FieldContext {
    return {
      environment: environments[phase],
      templates: this.#templates,
      phase,
      protocol: this.#attachment.protocol,
      path,
      inspect: this.#reviewer?.inspect(path),
      report: (error, message) => this.#report(error, message, path),
      child: (step) => this.#contextOf([...path, step], phase),
    }
  }

  #report(error: PolicyErrorName, message: string, path: DocumentPath): void {
    this.#issues.add(() => this.#document.issue(error, message, path))
  }
}
