import type { PolicyLanguage } from '../../../dashboard/page-data.ts'
import type { CursorContext } from './cursor-context.ts'
import { findJsonContext } from './json-cursor.ts'

/** A word that can replace the one before the caret. */
export interface Completion {
  readonly label: string
  /** What is inserted in place of the word. */
  readonly insert: string
  readonly detail: string
}

/** The completions at the cursor in a text, and where the word begins that they replace. */
export interface Completions {
  readonly from: number
  readonly options: readonly Completion[]
}

const MAX_OPTIONS = 50
const RULE_KEYS = [
  ['name', 'shown in logs and trials'],
  ['expressions', 'all must be true'],
  ['actions', 'run in order'],
] as const

interface Line {
  readonly indent: number
  readonly key: string
  readonly value: string
}

/** What can be written at `caret` of a policy in YAML or JSON. */
export function completionsAt(text: string, caret: number, language: PolicyLanguage): Completions {
  const { word, options } = text.trimStart().startsWith('{')
    ? jsonWords(text, caret, language)
    : yamlWords(text, caret, language)
  const prefix = word.toLowerCase()
  return {
    from: caret - word.length,
    options: options
      .filter(({ label }) => label.toLowerCase().startsWith(prefix) && label !== word)
      .slice(0, MAX_OPTIONS),
  }
}

function yamlWords(text: string, caret: number, language: PolicyLanguage): Words {
  const start = text.lastIndexOf('\n', caret - 1) + 1
  const before = text.slice(start, caret)
  const lines = text.slice(0, start).split('\n').slice(0, -1).map(parseLine)
  const current = parseLine(before)
  if (isExpression(before, current, lines)) return expressionWords(before, phaseOf(lines), language)
  const parents = parentsOf(lines, current.indent)
  const config = parents.find(({ key }) => key === 'config')
  const context = {
    parents: parents.map(({ key }) => key).toReversed(),
    key: current.key,
    actionType: lines.findLast(({ key, indent }) => key === 'type' && indent === config?.indent)?.value,
    word: current.value,
  }
  const isKey = current.key === ''
  return {
    word: context.word,
    options: structureWords(context, language).map(({ name, detail, opens }) => ({
      label: name,
      insert: isKey ? `${name}:${opens ? '' : ' '}` : name,
      detail,
    })),
  }
}

function jsonWords(text: string, caret: number, language: PolicyLanguage): Words {
  const context = findJsonContext(text.slice(0, caret))
  const { parents, word, isQuoted, key } = context
  const list = context.inList ? parents.at(-1) : undefined
  const isList = list === 'expressions' || list === 'bucket_key'
  if (isQuoted && (isList || word.lastIndexOf('${') > word.lastIndexOf('}')))
    return expressionWords(word, parents[0], language)
  const isClosed = isQuoted && text[caret] === '"'
  const opening = isQuoted ? '' : '"'
  const closing = isClosed ? '' : key === '' ? '": ' : '"'
  return {
    word,
    options: structureWords(context, language).map(({ name, detail }) => ({
      label: name,
      insert: `${opening}${name}${closing}`,
      detail,
    })),
  }
}

/** A list entry is indented by its dash. */
function parseLine(line: string): Line {
  const [, indent, dashes, key, value] = /^( *)((?:- +)*)(?:([\w-]+):(?: +|$))?(.*)$/.exec(line)!
  return { indent: indent!.length + dashes!.length, key: key ?? '', value: value ?? '' }
}

interface Words {
  readonly word: string
  readonly options: readonly Completion[]
}

/** The keys above the cursor, the nearest first. */
function parentsOf(lines: readonly Line[], indent: number): Line[] {
  const parents: Line[] = []
  let limit = indent
  for (const line of lines.toReversed())
    if (line.key !== '' && line.indent < limit) {
      parents.push(line)
      limit = line.indent
    }
  return parents
}

const phaseOf = (lines: readonly Line[]) =>
  lines.findLast(({ indent, key }) => indent === 0 && key !== '')?.key

/** `${` that is not closed, or an entry of a list of expressions. */
function isExpression(before: string, current: Line, lines: readonly Line[]): boolean {
  if (before.lastIndexOf('${') > before.lastIndexOf('}')) return true
  const isList = (key: string | undefined) => key === 'expressions' || key === 'bucket_key'
  if (isList(current.key)) return /[["',]/.test(current.value)
  return current.key === '' && /^\s*-/.test(before) && isList(parentsOf(lines, current.indent)[0]?.key)
}

function expressionWords(before: string, phase: string | undefined, language: PolicyLanguage): Words {
  const word = /[A-Za-z_][\w.]*$/.exec(before)?.[0] ?? ''
  const fits = ({ phases }: { phases: readonly string[] }) => phase === undefined || phases.includes(phase)
  const results = language.actions.flatMap(({ results }) => results)
  const names = [...language.variables.filter(fits), ...results].filter(({ name }) => !name.includes('['))
  const base = word.slice(0, Math.max(0, word.lastIndexOf('.')))
  const type = names.find(({ name }) => name === base)?.type
  const functions = language.functions.filter(fits).flatMap(({ name, signature, receiver }) => {
    if (!receiver) return [{ label: name, insert: `${name}(`, detail: signature }]
    const label = `${base}.${name}`
    return type !== undefined && accepts(signature, type)
      ? [{ label, insert: `${label}(`, detail: signature }]
      : []
  })
  return {
    word,
    options: [
      ...names.map(({ name, type }) => ({ label: name, insert: name, detail: type })),
      // Of a function with several forms, the first is shown.
      ...new Map(functions.toReversed().map((option) => [option.label, option])).values(),
    ],
  }
}

/** Whether a signature such as `string.lower()` is for values of a type; `e` stands for lists and maps. */
function accepts(signature: string, type: string): boolean {
  const [receiver] = signature.split(/[.(]/)
  const [kind] = type.split('(')
  return receiver === kind || (receiver === 'e' && (kind === 'list' || kind === 'map'))
}

interface StructureWord {
  readonly name: string
  readonly detail: string
  /** Whether what follows it begins on the next line. */
  readonly opens?: boolean
}

/** The words of the structure that fit at the cursor. */
function structureWords(
  { parents, key, actionType }: CursorContext,
  language: PolicyLanguage,
): readonly StructureWord[] {
  const [phase] = parents
  if (key === 'type')
    return language.actions
      .filter(({ phases }) => phase === undefined || phases.some((each) => each === phase))
      .map(({ type, description }) => ({ name: type, detail: description }))
  const fields = fieldsAt(parents, actionType, language)
  if (key !== '') {
    const { choices = [] } = fields.find((field) => field.key === key) ?? {}
    return choices.map((choice) => ({ name: choice, detail: '' }))
  }
  if (parents.length === 0)
    return language.phases.map(({ name, description }) => ({ name, detail: description, opens: true }))
  if (fields.length > 0) return fields.map((field) => ({ name: field.key, detail: field.detail }))
  if (parents.length === 1) return RULE_KEYS.map(([name, detail]) => ({ name, detail, opens: true }))
  if (parents.at(-1) === 'actions')
    return [
      { name: 'type', detail: 'what the action does' },
      { name: 'config', detail: 'its fields', opens: true },
    ]
  return []
}

interface KnownField {
  readonly key: string
  readonly detail: string
  readonly choices: readonly string[]
}

/** The fields of the configuration that the cursor is in. */
function fieldsAt(
  parents: readonly string[],
  actionType: string | undefined,
  language: PolicyLanguage,
): KnownField[] {
  const depth = parents.lastIndexOf('config')
  if (depth === -1) return []
  const path = parents.slice(depth + 1).join('.')
  const action = language.actions.find(({ type }) => type === actionType)
  return (action?.fields ?? []).flatMap(({ name, type, required, description, choices = [] }) => {
    const keys = name.replaceAll('[]', '').split('.')
    const key = keys.pop()!
    if (keys.join('.') !== path) return []
    return [{ key, detail: `${type}${required ? ', required' : ''}: ${description}`, choices }]
  })
}
