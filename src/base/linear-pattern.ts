import { type Node, parsePattern } from './linear-pattern-parse.ts'

/** The most steps a pattern may compile to; with the length of what is searched it bounds the work of one match. */
const MAX_STEPS = 2000

/** The most steps one search may follow, about 10 ms of work: patterns that are not made to be slow need a tenth of it. */
const MAX_WORK = 400_000

/** One step of a compiled pattern: consume a character, assert a position, fork, or succeed. */
type Step =
  | { readonly kind: 'char'; readonly accepts: (code: number) => boolean; next: number }
  | { readonly kind: 'assert'; readonly holds: (text: string, position: number) => boolean; next: number }
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'match' }

/** A search that would take too long, so that nothing is known. */
export class SearchTooLong extends Error {
  override name = 'SearchTooLong'
}

/** Says whether the pattern occurs anywhere in the text; throws `SearchTooLong`. */
export type LinearPattern = (text: string) => boolean

/**
 * Compiles a regular expression of the RE2 kind (no back-references, no look-around) into a search whose time grows with
 * the length of the text and never explodes. Patterns come from one tenant and run for all of them, which rules out an
 * engine that backtracks. Throws a sentence for what it cannot compile.
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

/** Compiles patterns into one search for any of them, so that their size is bounded together. Throws as for one. */
export function compileAnyOf(patterns: readonly string[]): LinearPattern {
  if (patterns.length === 0) return () => false
  // Each by itself first: joined, two broken ones could make a whole one.
  for (const pattern of patterns) compileLinearPattern(pattern)
  return compileLinearPattern(patterns.map((pattern) => `(?:${pattern})`).join('|'))
}

/** Adds the steps of a node, which go on at `next`; answers with the first of them. */
function emit(node: Node, next: number, add: (step: Step) => number, steps: Step[]): number {
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

/** Follows all ways through the pattern at once, one character after the other. */
function search(steps: readonly Step[], start: number, text: string): boolean {
  // The last position at which a step was reached, so that none is followed twice at one position.
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
