import {
  CostExceeded,
  compileCondition,
  DYN,
  Environment,
  EvaluationError,
  type Field,
  fromJson,
  objectOf,
  type Program,
  type Shape,
} from '../cel/index.ts'

/** Reads one field of an event; undefined when the event does not have it. */
export type Getter<E> = (event: E) => unknown

/** Whether an event matches. */
export type Filter<E> = (event: E) => boolean

/** An invalid filter; the message says what is wrong and where. */
export class FilterError extends Error {
  override name = 'FilterError'
}

/** What filters of one type of event may use: `ev` with these fields, whose names have dots. */
export function filterEnvironment<E>(fields: ReadonlyMap<string, Getter<E>>): Environment {
  return new Environment({ variables: { ev: { type: objectOf(shapeOf('ev', fields)), read: itself } } })
}

// Every branch of the tree reads from the event itself, so that selecting a field costs one call.
const itself = (event: never) => event

/** The fields as a tree: those that begin with the same step are one object. Types are known only when an event is. */
function shapeOf<E>(name: string, fields: ReadonlyMap<string, Getter<E>>): Shape {
  const leaves: Record<string, Field> = {}
  const branches = new Map<string, Map<string, Getter<E>>>()
  for (const [path, getter] of fields) {
    const dot = path.indexOf('.')
    if (dot === -1) leaves[path] = { type: DYN, read: (event) => fromJson(getter(event)) }
    else {
      const step = path.slice(0, dot)
      const branch = branches.get(step) ?? new Map<string, Getter<E>>()
      branches.set(step, branch.set(path.slice(dot + 1), getter))
    }
  }
  for (const [step, branch] of branches)
    leaves[step] = { type: objectOf(shapeOf(`${name}.${step}`, branch)), read: itself }
  return { name, fields: leaves }
}

/**
 * Compiles a filter: a CEL expression over `ev`. An event matches when the filter is true; one that cannot be evaluated,
 * because a field is absent or it takes too long, does not match. Throws `FilterError` for an invalid filter, so that a
 * mistake is rejected when the filter is written and not when it runs.
 */
export function parseFilter(source: string, environment: Environment): Filter<unknown> {
  if (source.trim() === '') return () => true
  const condition = compileCondition(source, environment)
  if ('error' in condition) throw new FilterError(condition.error)
  return (event) => holds(condition.program, event)
}

function holds(program: Program, event: unknown): boolean {
  try {
    return program.evaluate(event) === true
  } catch (error) {
    if (error instanceof EvaluationError || error instanceof CostExceeded) return false
    throw error
  }
}
