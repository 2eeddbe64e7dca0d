import { type PatternNode, parsePattern } from './linear-pattern-parse.ts'

/** Bounds the program of a pattern; together with the length of the text it bounds the work of one search. */
const MAX_STEPS = 2000

/** Bounds one search, at about 10 ms of work: patterns that are not built to be slow need a tenth of it. */
const MAX_WORK = 400_000

/** One step of a compiled pattern: consume a character, assert a position, fork, or succeed. */
type Step =
  | { readonly kind: 'char'; readonly accepts: (code: number) => boolean; next: number }
  | { readonly kind: 'assert'; readonly holds: (text: string, position: number) => boolean; next: number }
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'match' }

/** The search exceeded its budget; whether the pattern matches is unknown. */
export class SearchTooLong extends Error {
  override name = 'SearchTooLong'
}

/** Returns whether the pattern occurs anywhere in the text. Throws `SearchTooLong`. */
export type LinearPattern = (text: string) => boolean

/**
 * Compiles a regular expression with RE2 semantics (no back-references, no look-around) into a search in linear time.
 * Tenants write patterns that run in a process shared by all, which rules out a backtracking engine. Throws a sentence
 * for a pattern it cannot compile.
 */
export function compileLinearPattern(source: string): LinearPattern {
  const steps: Step[] = []
  const add = (step: Step): number => {
    if (steps.push(step) > MAX_STEPS)
      throw new Error(`the pattern is too large; it may have ${MAX_STEPS} steps.`)
    return steps.length - 1
  }
  const start = emit(parsePattern(source), add({ kind: 'match' }), add, steps)
  return (text) => search(steps, start, text)
}

/** Compiles several patterns into one search for any of them, which bounds their total size. Throws as for one. */
export function compileAnyOf(patterns: readonly string[]): LinearPattern {
  if (patterns.length === 0) return () => false
  // Each by itself first: joined, two invalid patterns could form a valid one.
  for (const pattern of patterns) compileLinearPattern(pattern)
  return compileLinearPattern(patterns.map((pattern) => `(?:${pattern})`).join('|'))
}

/** Adds the steps of a node, which continue at `next`, and returns the index of the first. */
function emit(node: PatternNode, next: number, add: (step: Step) => number, steps: Step[]): number {
  switch (node.kind) {
    case 'empty':
      return next
    case 'char':
      return add({ kind: 'char', accepts: node.accepts, next })
    case 'assert':
      return add({ kind: 'assert', holds: node.holds, next })
    case 'sequence':
      return node.parts.reduceRight((after, part) => emit(part, after, add, steps), next)
    case 'choice':
      return node.options
        .map((option) => emit(option, next, add, steps))
        .reduce((first, second) => add({ kind: 'fork', first, second }))
    case 'repeat': {
      let entry = next
      if (node.max === Number.POSITIVE_INFINITY) {
        const loop = add({ kind: 'fork', first: next, second: next })
        ;(steps[loop] as { first: number }).first = emit(node.of, loop, add, steps)
        entry = loop
      } else {
        for (let n = node.min; n < node.max; n++) {
          entry = add({ kind: 'fork', first: emit(node.of, entry, add, steps), second: next })
        }
      }
      for (let n = 0; n < node.min; n++) entry = emit(node.of, entry, add, steps)
      return entry
    }
  }
}

/** Simulates the NFA: follows all threads at once, one character after the other. */
function search(steps: readonly Step[], start: number, text: string): boolean {
  // The last position at which each step was visited, so that none is followed twice at one position.
  const lastVisit = new Int32Array(steps.length).fill(-1)
  let current: number[] = []
  let following: number[] = []
  const stack: number[] = []
  let matched = false
  let work = 0

  const reach = (first: number, position: number, into: number[]): void => {
    stack.push(first)
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (lastVisit[id] === position) continue
      lastVisit[id] = position
      if (++work > MAX_WORK) throw new SearchTooLong('the pattern takes too long on this text')
      const step = steps[id]!
      if (step.kind === 'char') into.push(id)
      else if (step.kind === 'match') matched = true
      else if (step.kind === 'fork') stack.push(step.second, step.first)
      else if (step.holds(text, position)) stack.push(step.next)
    }
  }

  for (let position = 0; ; position++) {
    reach(start, position, current)
    if (matched) return true
    if (position === text.length) return false
    const code = text.charCodeAt(position)
    for (const id of current) {
      const step = steps[id] as Step & { kind: 'char' }
      if (step.accepts(code)) reach(step.next, position + 1, following)
    }
    if (matched) return true
    const previous = current
    current = following
    following = previous
    following.length = 0
  }
}
