import {
  Budget,
  CostExceeded,
  compileCondition,
  DYN,
  Environment,
  EvaluationError,
  type Field,
  fromJson,
  objectOf,
  overload,
  parseDuration,
  parseTimestamp,
  STRING,
  TIMESTAMP,
  Timestamp,
} from '../../cel/index.ts'
import { problem } from '../problems.ts'
import { matchesWords, searchableTexts, searchWords } from './search-text.ts'

type Body = Record<string, unknown>

/** Fields that are moments: filters compare them with `timestamp("…")`. */
const TIME_FIELDS: readonly string[] = [
  'created_at',
  'updated_at',
  'not_before',
  'not_after',
  'started_at',
  'at',
]

/** What filtering one item may cost: some 20 microseconds, so that a batch of them does not delay other calls. */
const ITEM_BUDGET = 1000

/** Texts that a search looks for a word in, for one unit of the budget. */
const TEXTS_PER_UNIT = 4

/** Durations of filters also have days. */
const spanNanos = (text: string) =>
  parseDuration(text.replace(/^(\d{1,6})d$/, (_, days) => `${days * 24}h`)).nanos

const functions = [
  overload(
    'timestamp.add(string) -> timestamp',
    (_context, { nanos }: Timestamp, span: string) => new Timestamp(nanos + spanNanos(span)),
  ),
  overload(
    'timestamp.subtract(string) -> timestamp',
    (_context, { nanos }: Timestamp, span: string) => new Timestamp(nanos - spanNanos(span)),
  ),
  overload('search(dyn, string) -> bool', (context, item: Body, query: string) => {
    const words = searchWords(query)
    const texts = searchableTexts(item)
    context.charge(1 + (texts.length * words.length) / TEXTS_PER_UNIT)
    return matchesWords(texts, words)
  }),
]

const environments = new Map<string, Environment>()

/** What an expression reads of a list: a variable with the fields of the listed items. */
interface ItemVariable {
  readonly name: string
  readonly listKey: string
  readonly fieldNames: readonly string[]
}

/** Made once for each list. */
function environmentOf({ name: variable, listKey, fieldNames }: ItemVariable): Environment {
  const key = `${variable} ${listKey}`
  const known = environments.get(key)
  if (known !== undefined) return known
  const fields: Record<string, Field> = {}
  for (const name of fieldNames)
    fields[name] = TIME_FIELDS.includes(name)
      ? { type: TIMESTAMP, read: (item: Body) => timeOf(item[name]) }
      : { type: DYN, read: (item: Body) => fromJson(item[name]) }
  const environment = new Environment({
    variables: {
      [variable]: { type: objectOf({ name: variable, fields }), read: (item: Body) => item },
      'time.now': { type: STRING, read: () => new Date().toISOString() },
    },
    functions,
    budgetOf: () => new Budget(ITEM_BUDGET),
  })
  environments.set(key, environment)
  return environment
}

function timeOf(value: unknown): Timestamp | null | undefined {
  return typeof value === 'string' && value !== '' ? parseTimestamp(value) : (value as null | undefined)
}

/** A condition on the items of a list, or what is wrong with it. An item that it cannot be evaluated for does not match. */
export type ItemCondition = { readonly matches: (item: Body) => boolean } | { readonly error: string }

/** Compiles a CEL expression over one item as a list shows it. */
export function compileItemCondition(source: string, variable: ItemVariable): ItemCondition {
  const condition = compileCondition(source, environmentOf(variable))
  if ('error' in condition) return condition
  const { program } = condition
  return {
    matches(item) {
      try {
        return program.evaluate(item) === true
      } catch (error) {
        if (error instanceof CostExceeded) throw problem('bad_filter', 'it takes too long for one item')
        if (error instanceof EvaluationError) return false
        throw error
      }
    },
  }
}

/**
 * Compiles the `filter` of a list: a CEL expression over `obj`. Throws a problem for an invalid filter, and for one that
 * takes too long.
 */
export function compileListFilter(
  source: string,
  listKey: string,
  fieldNames: readonly string[],
): (item: Body) => boolean {
  const view = listKey === 'endpoints' ? endpointView(source) : undefined
  const names = view === undefined ? fieldNames : [...fieldNames, 'binding']
  const condition = compileItemCondition(source, { name: 'obj', listKey, fieldNames: names })
  if ('error' in condition) throw problem('bad_filter', condition.error)
  return view === undefined ? condition.matches : (item) => condition.matches(view(item))
}

/** The original has two words for the type of agents' endpoints, and filters by the one binding that an endpoint has. */
function endpointView(source: string): (item: Body) => Body {
  const saysAgent = /["']agent["']/.test(source)
  return (item) => ({
    ...item,
    binding: Array.isArray(item.bindings) ? item.bindings[0] : undefined,
    type: saysAgent && item.type === 'ephemeral' ? 'agent' : item.type,
  })
}
