import { type Document, LineCounter, parseDocument } from 'yaml'
import { errorMessage } from '../base/text/error-message.ts'
import { expandAliases, LINEAR_PARSING, YamlMistake } from '../base/text/yaml-document.ts'
import { findNearest } from '../base/values/nearest.ts'
import { MAX_POLICY_BYTES } from '../resources/endpoint-options.ts'
import { type PolicyErrorName, policyErrors } from './error-codes.ts'
import { type DocumentPath, PolicyError, type PolicyIssue, PolicyIssues } from './issue.ts'
import { type Attachment, isHttp, PHASES, type PhaseName } from './phases.ts'

/** In all phases together. */
const MAX_RULES = 500
const MAX_EXPRESSIONS = 50
const MAX_ACTIONS = 50
const MAX_NAME_LENGTH = 1024

/** A rule as it is written. */
export interface RuleSource {
  readonly name: string
  readonly expressions: readonly string[]
  readonly actions: readonly ActionSource[]
  readonly path: DocumentPath
}

export interface ActionSource {
  readonly type: string
  readonly config: unknown
  readonly path: DocumentPath
}

/** A policy as it is written, with everything but its expressions and actions checked. */
export interface PolicyDocument {
  readonly phases: Readonly<Partial<Record<PhaseName, readonly RuleSource[]>>>
  /** Creates a mistake at a place of the text. */
  issue(error: PolicyErrorName, message: string, path: DocumentPath): PolicyIssue
}

/** Reads a policy in YAML or JSON, in the present form or in the older one of `inbound` and `outbound`. Throws `PolicyError`. */
export function readDocument(text: string, attachment: Attachment): PolicyDocument {
  return new DocumentReader(text, attachment).read()
}

class DocumentReader {
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #attachment: Attachment
  readonly #issues = new PolicyIssues()
  #rules = 0

  constructor(text: string, attachment: Attachment) {
    this.#attachment = attachment
    if (Buffer.byteLength(text) > MAX_POLICY_BYTES)
      throw unreadable(`the policy is larger than ${MAX_POLICY_BYTES / 1024} KiB`)
    try {
      this.#document = parseDocument(text, { lineCounter: this.#lines, ...LINEAR_PARSING })
    } catch (error) {
      throw unreadable(`the policy cannot be read: ${errorMessage(error)}`)
    }
    const [fault] = this.#document.errors
    if (fault !== undefined)
      throw unreadable(`the policy is neither YAML nor JSON: ${fault.message}`, this.#lineAt(fault.pos[0]))
  }

  read(): PolicyDocument {
    const root = this.#toValue()
    const phases: Partial<Record<PhaseName, RuleSource[]>> = {}
    if (!isMap(root)) throw unreadable('a policy is a map of phases, such as on_http_request')
    for (const [key, value] of Object.entries(root)) {
      // The older form could be switched off as a whole.
      if (key === 'enabled' && typeof value === 'boolean') continue
      const phase = this.#phaseOf(key)
      if (phase === undefined) this.#reportUnknownPhase(key)
      else if (value !== null) phases[phase] = [...(phases[phase] ?? []), ...this.#readRules(value, [key])]
    }
    this.#issues.throwIfAny()
    const isOff = root.enabled === false
    return { phases: isOff ? {} : phases, issue: (...args) => this.#issue(...args) }
  }

  #toValue(): unknown {
    try {
      expandAliases(this.#document, MAX_POLICY_BYTES)
      return this.#document.toJS()
    } catch (error) {
      const line = error instanceof YamlMistake ? this.#lineAt(error.offset) : undefined
      throw unreadable(`the policy cannot be read: ${errorMessage(error)}`, line)
    }
  }

  #phaseOf(key: string): PhaseName | undefined {
    const http = isHttp(this.#attachment)
    if (key === 'inbound' || key === 'Inbound') return http ? 'on_http_request' : 'on_tcp_connect'
    if (key === 'outbound' || key === 'Outbound') return 'on_http_response'
    return PHASES.find((phase) => phase === key)
  }

  #reportUnknownPhase(key: string): void {
    const near = findNearest(key, PHASES)
    const hint = near === undefined ? `the phases are ${PHASES.join(', ')}` : `did you mean ${near}?`
    this.#report('malformed_document', `"${clip(key)}" is not a phase; ${hint}`, [key])
  }

  #readRules(value: unknown, path: DocumentPath): RuleSource[] {
    if (!Array.isArray(value)) {
      this.#report('malformed_document', 'it must be a list of rules', path)
      return []
    }
    this.#rules += value.length
    if (this.#rules > MAX_RULES) {
      this.#report('too_many_rules', `a policy has at most ${MAX_RULES} rules`, path)
      return []
    }
    return value.flatMap((rule, index) => this.#readRule(rule, [...path, index]))
  }

  #readRule(value: unknown, path: DocumentPath): RuleSource[] {
    const fields = this.#fields(value, path, ['name', 'expressions', 'actions', 'enabled'], 'a rule')
    if (fields === undefined) return []
    const { name, enabled } = fields
    const expressions = this.#list(fields.expressions, MAX_EXPRESSIONS, 'too_many_expressions')
    for (const { value: expression, path: location } of expressions)
      if (typeof expression !== 'string')
        this.#report('invalid_expression', 'an expression must be a text', location)
    const actions = this.#list(fields.actions, MAX_ACTIONS, 'too_many_actions').flatMap((action) =>
      this.#readAction(action),
    )
    if (fields.actions?.value === undefined || actions.length === 0)
      this.#report('no_action', 'a rule needs at least one action', path)
    if (name?.value != null && (typeof name.value !== 'string' || name.value.length > MAX_NAME_LENGTH))
      this.#report(
        'wrong_type',
        `the name of a rule must be a text of at most ${MAX_NAME_LENGTH} characters`,
        path,
      )
    if (enabled?.value === false) return []
    const texts = expressions.map(({ value: expression }) => String(expression))
    return [{ name: String(name?.value ?? ''), expressions: texts, actions, path }]
  }

  #readAction({ value, path }: LocatedValue): ActionSource[] {
    const fields = this.#fields(value, path, ['type', 'config'], 'an action')
    if (fields === undefined) return []
    if (typeof fields.type?.value !== 'string') {
      this.#report('unknown_action', 'an action needs a "type"', path)
      return []
    }
    return [{ type: fields.type.value, config: fields.config?.value ?? {}, path }]
  }

  /** The fields of a map by their lower-case names; older SDKs write names with a capital. */
  #fields(value: unknown, path: DocumentPath, names: readonly string[], noun: string): Fields | undefined {
    if (!isMap(value)) {
      this.#report('malformed_document', `${noun} must be a map with ${names.slice(0, -1).join(', ')}`, path)
      return undefined
    }
    const fields: Fields = {}
    for (const [key, field] of Object.entries(value)) {
      const name = names.find((known) => known === key || capitalized(known) === key)
      if (name !== undefined) fields[name] = { value: field, path: [...path, key] }
      else {
        const near = findNearest(key, names)
        const hint = near === undefined ? '' : `; did you mean ${near}?`
        this.#report('malformed_document', `${noun} has no "${clip(key)}"${hint}`, [...path, key])
      }
    }
    return fields
  }

  #list(field: LocatedValue | undefined, max: number, error: PolicyErrorName): LocatedValue[] {
    if (field?.value == null) return []
    const { value, path } = field
    if (!Array.isArray(value)) this.#report('malformed_document', 'it must be a list', path)
    else if (value.length > max) this.#report(error, `it may have ${max} entries at most`, path)
    else return value.map((entry, index) => ({ value: entry, path: [...path, index] }))
    return []
  }

  #report(error: PolicyErrorName, message: string, path: DocumentPath): void {
    this.#issues.add(() => this.#issue(error, message, path))
  }

  #issue(error: PolicyErrorName, message: string, path: DocumentPath): PolicyIssue {
    return { code: policyErrors[error].code, message, path, line: this.#lineOf(path), ...this.#namesOf(path) }
  }

  /** The name of a rule and the type of an action, which people search for. */
  #namesOf([phase, rule, list, action]: DocumentPath): Pick<PolicyIssue, 'rule' | 'action'> {
    const textAt = (key: string, ...path: DocumentPath) => {
      const value = [key, capitalized(key)]
        .map((spelling) => this.#document.getIn([...path, spelling]))
        .find((found) => found !== undefined)
      return typeof value === 'string' ? clip(value) : undefined
    }
    if (phase === undefined || typeof rule !== 'number') return {}
    const isAction = list === 'actions' || list === 'Actions'
    return {
      rule: textAt('name', phase, rule),
      action: isAction && action !== undefined ? textAt('type', phase, rule, list, action) : undefined,
    }
  }

  /** The line of a value, or of the nearest one around it. */
  #lineOf(path: DocumentPath): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const node = this.#document.getIn(path.slice(0, length), true) as { range?: [number] } | undefined
      if (node?.range !== undefined) return this.#lineAt(node.range[0])
    }
    return undefined
  }

  #lineAt(offset: number): number {
    return this.#lines.linePos(offset).line
  }
}

interface LocatedValue {
  readonly value: unknown
  readonly path: DocumentPath
}

type Fields = Record<string, LocatedValue | undefined>

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unreadable(message: string, line?: number): PolicyError {
  return new PolicyError([{ code: policyErrors.malformed_document.code, message, path: [], line }])
}

const capitalized = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1)
const clip = (text: string) => text.slice(0, 60)
