import { type PatternNode, parsePattern } from './linear-pattern-parse.ts'

/** Bounds the program of a pattern; together with the length of the text it bounds the work of one search. */
const MAX_STEPS = 2000

/** Bounds one search, at about 10 ms of work: patterns that are not built to be slow need a tenth of it. */
const MAX_WORK = 400_000

/** One step of a compiled pattern: consume a character, assert a position, note a position, fork, or succeed. */
type Step =
  | { readonly kind: 'char'; readonly accepts: (code: number) => boolean; next: number }
  | { readonly kind: 'assert'; readonly holds: (text: string, position: number) => boolean; next: number }
  | { readonly kind: 'save'; readonly slot: number; next: number }
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'match' }

/** The search exceeded its budget; whether the pattern matches is unknown. */
export class SearchTooLong extends Error {
  override name = 'SearchTooLong'
}

/** Returns whether the pattern occurs anywhere in the text. Throws `SearchTooLong`. */
export type LinearPattern = (text: string) => boolean

/** Is told of steps before they are taken, and throws to end the search. */
export type ChargeSteps = (steps: number) => void

/** Where a pattern was found. */
export interface LinearMatch {
  readonly start: number
  readonly end: number
  /** The whole match, then what each group matched last; undefined for a group that took no part. */
  readonly groups: readonly (string | undefined)[]
}

/** A compiled pattern. Searches charge for their steps; by default they throw `SearchTooLong` after some 10 ms. */
export interface LinearRegex {
  /** The names of groups and their numbers. */
  readonly groupNames: ReadonlyMap<string, number>
  test(text: string, charge?: ChargeSteps): boolean
  /** The leftmost match that begins at `from` or later, with the preferences of Perl and RE2. */
  exec(text: string, from?: number, charge?: ChargeSteps): LinearMatch | undefined
}

/**
 * Compiles a regular expression with RE2 semantics (no back-references, no look-around) into searches in linear time.
 * Tenants write patterns that run in a process shared by all, which rules out a backtracking engine. Throws a sentence
 * for a pattern it cannot compile.
 */
export function compileLinearRegex(source: string): LinearRegex {
  const steps: Step[] = []
  const add = (step: Step): number => {
    if (steps.push(step) > MAX_STEPS)
      throw new Error(`the pattern is too large; it may have ${MAX_STEPS} steps.`)
    return steps.length - 1
  }
  const { node, groupCount, groupNames } = parsePattern(source)
  const start = emit(node, add({ kind: 'match' }), add, steps)
  const slots = 2 * (groupCount + 1)
  return {
    groupNames,
    test: (text, charge = defaultCharge()) => search(steps, start, text, charge),
    exec: (text, from = 0, charge = defaultCharge()) => capture(steps, start, slots, text, from, charge),
  }
}

/** As `compileLinearRegex`, where only the answer matters. */
export function compileLinearPattern(source: string): LinearPattern {
  const regex = compileLinearRegex(source)
  return (text) => regex.test(text)
}

/** Compiles several patterns into one search for any of them, which bounds their total size. Throws as for one. */
export function compileAnyOf(patterns: readonly string[]): LinearPattern {
  if (patterns.length === 0) return () => false
  // Each by itself first: joined, two invalid patterns could form a valid one.
  for (const pattern of patterns) compileLinearPattern(pattern)
  return compileLinearPattern(patterns.map((pattern) => `(?:${pattern})`).join('|'))
}

function defaultCharge(): ChargeSteps {
  let work = 0
  return (steps) => {
    work += steps
    if (work > MAX_WORK) throw new SearchTooLong('the pattern takes too long on this text')
  }
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
    case 'group': {
      const end = add({ kind: 'save', slot: 2 * node.index + 1, next })
      return add({ kind: 'save', slot: 2 * node.index, next: emit(node.child, end, add, steps) })
    }
    case 'sequence':
      return node.parts.reduceRight((after, part) => emit(part, after, add, steps), next)
    case 'choice':
      return node.options
        .map((option) => emit(option, next, add, steps))
        .reduceRight((second, first) => add({ kind: 'fork', first, second }))
    case 'repeat': {
      // The preferred way is the first: once more, or the exit when the repetition is lazy.
      const fork = (again: number, exit: number) =>
        add({ kind: 'fork', first: node.lazy ? exit : again, second: node.lazy ? again : exit })
      let entry = next
      if (node.max === Number.POSITIVE_INFINITY) {
        entry = fork(next, next)
        const again = emit(node.child, entry, add, steps)
        const loop = steps[entry] as { first: number; second: number }
        if (node.lazy) loop.second = again
        else loop.first = again
      } else {
        for (let n = node.min; n < node.max; n++) entry = fork(emit(node.child, entry, add, steps), next)
      }
      for (let n = 0; n < node.min; n++) entry = emit(node.child, entry, add, steps)
      return entry
    }
  }
}

/** Simulates the NFA: follows all threads at once, one character after the other. */
function search(steps: readonly Step[], start: number, text: string, charge: ChargeSteps): boolean {
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
      work++
      const step = steps[id]!
      if (step.kind === 'char') into.push(id)
      else if (step.kind === 'match') matched = true
      else if (step.kind === 'fork') stack.push(step.second, step.first)
      else if (step.kind === 'save' || step.holds(text, position)) stack.push(step.next)
    }
  }

  charge(steps.length >> 4)
  for (let position = 0; ; ) {
    reach(start, position, current)
    if (matched) return true
    if (position >= text.length) return false
    charge(work)
    work = 0
    const code = text.codePointAt(position)!
    position += code > 0xffff ? 2 : 1
    for (const id of current) {
      const step = steps[id] as Step & { kind: 'char' }
      if (step.accepts(code)) reach(step.next, position, following)
    }
    if (matched) return true
    const previous = current
    current = following
    following = previous
    following.length = 0
  }
}

/** A thread of the simulation, with the positions at which its groups began and ended. */
interface Thread {
  readonly id: number
  readonly saved: readonly number[]
}

/** The same simulation with threads in the order of preference: the first that matches ends all after it. */
function capture(
  steps: readonly Step[],
  start: number,
  slots: number,
  text: string,
  from: number,
  charge: ChargeSteps,
): LinearMatch | undefined {
  const lastVisit = new Int32Array(steps.length).fill(-1)
  const unsaved = new Array<number>(slots).fill(-1)
  let current: Thread[] = []
  let best: readonly number[] | undefined
  let work = 0

  const reach = (thread: Thread, position: number, into: Thread[]): void => {
    const stack = [thread]
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      const { id, saved } = top
      if (lastVisit[id] === position) continue
      lastVisit[id] = position
      work++
      const step = steps[id]!
      if (step.kind === 'fork') stack.push({ id: step.second, saved }, { id: step.first, saved })
      else if (step.kind === 'save') {
        // Copying the positions is work too.
        work += slots >> 3
        stack.push({ id: step.next, saved: saved.with(step.slot, position) })
      } else if (step.kind === 'assert') {
        if (step.holds(text, position)) stack.push({ id: step.next, saved })
      } else into.push(top)
    }
  }

  charge(steps.length >> 4)
  for (let position = from; ; ) {
    if (best === undefined) reach({ id: start, saved: unsaved.with(0, position) }, position, current)
    charge(work)
    work = 0
    const atEnd = position >= text.length
    const code = atEnd ? -1 : text.codePointAt(position)!
    const after = position + (code > 0xffff ? 2 : 1)
    const following: Thread[] = []
    for (const { id, saved } of current) {
      const step = steps[id]!
      if (step.kind === 'match') {
        best = saved.with(1, position)
        break
      }
      if (!atEnd && (step as Step & { kind: 'char' }).accepts(code))
        reach({ id: (step as Step & { kind: 'char' }).next, saved }, after, following)
    }
    if (atEnd || (following.length === 0 && best !== undefined)) break
    current = following
    position = after
  }
  return best && toMatch(text, best)
}

function toMatch(text: string, saved: readonly number[]): LinearMatch {
  const groups: (string | undefined)[] = []
  for (let slot = 0; slot < saved.length; slot += 2) {
    const [start, end] = [saved[slot]!, saved[slot + 1]!]
    groups.push(start === -1 || end === -1 ? undefined : text.slice(start, end))
  }
  return { start: saved[0]!, end: saved[1]!, groups }
}
