import type { PolicyLanguage } from '../../../dashboard/page-data.ts'

/** A word that can replace the one before the caret. */
export interface Completion {
  readonly label: string
  /** What is inserted in place of the word. */
  readonly insert: string
  readonly detail: string
}

/** The completions at a place of a text, and where the word begins that they replace. */
export interface Completions {
  readonly from: number
  readonly options: readonly Completion[]
}

const MAX_OPTIONS = 50
const RULE_KEYS = [
  ['name', 'shown in logs and trials'],
  ['expressions', 'all of them have to be true'],
  ['actions', 'run in order'],
] as const

interface Line {
  readonly indent: number
  readonly key: string
  readonly value: string
}

/** What can be written at `caret` of a policy in YAML. */
export function completionsAt(text: string, caret: number, language: PolicyLanguage): Completions {
  const start = text.lastIndexOf('\n', caret - 1) + 1
  const before = text.slice(start, caret)
  const lines = text.slice(0, start).split('\n').slice(0, -1).map(parseLine)
  const current = parseLine(before)
  const found = isExpression(before, current, lines)
    ? expressionWords(before, phaseOf(lines), language)
    : structureWords(before, current, lines, language)
  const word = found.word.toLowerCase()
  return {
    from: caret - found.word.length,
    options: found.options
      .filter(({ label }) => label.toLowerCase().startsWith(word) && label !== found.word)
      .slice(0, MAX_OPTIONS),
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

/** The keys above a place, the nearest first. */
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

function structureWords(
  before: string,
  current: Line,
  lines: readonly Line[],
  language: PolicyLanguage,
): Words {
  const phase = phaseOf(lines)
  const words = (options: readonly Completion[], word = current.value): Words => ({ word, options })
  if (current.key === 'type')
    return words(
      language.actions
        .filter(({ phases }) => phase === undefined || phases.some((each) => each === phase))
        .map(({ type, description }) => ({ label: type, insert: type, detail: description })),
    )
  const parents = parentsOf(lines, current.indent)
  const fields = fieldsAt(parents, lines, language)
  if (current.key !== '')
    return words(
      (fields.find(({ key }) => key === current.key)?.choices ?? []).map((choice) => ({
        label: choice,
        insert: choice,
        detail: '',
      })),
    )
  if (/^[\w-]*$/.test(before))
    return words(
      language.phases.map(({ name, description }) => ({
        label: name,
        insert: `${name}:`,
        detail: description,
      })),
    )
  if (fields.length > 0)
    return words(fields.map(({ key, detail }) => ({ label: key, insert: `${key}: `, detail })))
  if (parents.length === 1)
    return words(RULE_KEYS.map(([key, detail]) => ({ label: key, insert: `${key}:`, detail })))
  if (parents[0]?.key === 'actions')
    return words([
      { label: 'type', insert: 'type: ', detail: 'what the action does' },
      { label: 'config', insert: 'config:', detail: 'its fields' },
    ])
  return words([])
}

interface KnownField {
  readonly key: string
  readonly detail: string
  readonly choices: readonly string[]
}

/** The fields of the configuration that a place is in. */
function fieldsAt(parents: readonly Line[], lines: readonly Line[], language: PolicyLanguage): KnownField[] {
  const depth = parents.findIndex(({ key }) => key === 'config')
  if (depth === -1) return []
  const type = lines.findLast(({ key, indent }) => key === 'type' && indent === parents[depth]!.indent)?.value
  const path = parents
    .slice(0, depth)
    .map(({ key }) => key)
    .toReversed()
  const action = language.actions.find((each) => each.type === type)
  return (action?.fields ?? []).flatMap(({ name, type, required, description, choices = [] }) => {
    const keys = name.replaceAll('[]', '').split('.')
    const key = keys.pop()!
    if (keys.join('.') !== path.join('.')) return []
    return [{ key, detail: `${type}${required ? ', required' : ''}: ${description}`, choices }]
  })
}
