import { type Holds, type PatternNode, parsePattern } from './linear-pattern-parse.ts'
import type { CharSet } from './linear-pattern-set.ts'

/** Bounds the program of a pattern; together with the length of the text it bounds the work of one search. */
const MAX_STEPS = 2000

/** Bounds the work of making a program; patterns that fit into one need half of it. */
const MAX_ROUNDS = 4 * MAX_STEPS

/** What compiling takes, in steps of a search: for each character of a pattern, and for each round that makes steps. */
const PARSE_COST = 20
const ROUND_COST = 4

/** What one budget allows, about 10 ms of work: patterns that are not built to be slow need a tenth of it. */
const MAX_WORK = 400_000

/** One step of a compiled pattern: consume a character, assert a position, note a position, fork, or succeed. */
type Step =
  | { readonly kind: 'char'; readonly set: CharSet; next: number }
  | { readonly kind: 'assert'; readonly holds: Holds; next: number }
  | { readonly kind: 'save'; readonly slot: number; next: number }
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'match' }

/** The search exceeded its budget; whether the pattern matches is unknown. */
export class SearchTooLong extends Error {
  override name = 'SearchTooLong'
}

/** Is told of steps before they are taken, and throws to end the work. */
export type ChargeSteps = (steps: number) => void

/** Where a pattern was found. */
export interface LinearMatch {
  readonly start: number
  readonly end: number
  /** The whole match, then what each group matched last; undefined for a group that took no part. */
  readonly groups: readonly (string | undefined)[]
}

/** A compiled pattern, whose searches charge for their steps. */
export interface LinearRegex {
  /** The names of groups and their numbers. */
  readonly groupNames: ReadonlyMap<string, number>
  /** Whether the pattern occurs anywhere in the text. */
  test(text: string, charge: ChargeSteps): boolean
  /** The leftmost match that begins at `from` or later, with the preferences of Perl and RE2. */
  exec(text: string, from: number, charge: ChargeSteps): LinearMatch | undefined
}

/**
 * The budget of one action or evaluation, for all its patterns and matches together. It throws `SearchTooLong` when it is
 * spent; a budget for each search would make the work quadratic.
 */
export function createSearchBudget(maxSteps = MAX_WORK): ChargeSteps {
  let left = maxSteps
  return (steps) => {
    left -= steps
    if (left < 0) throw new SearchTooLong('the pattern takes too long on this text')
  }
}

/**
 * Compiles a regular expression with RE2 semantics (no back-references, no look-around) into searches in linear time.
 * Tenants write patterns that run in a process shared by all, which rules out a backtracking engine. Throws a sentence
 * for a pattern it cannot compile. What compiling takes is bounded; a pattern that a request brings is charged for it.
 */
export function compileLinearRegex(source: string, charge: ChargeSteps = () => {}): LinearRegex {
  charge(PARSE_COST * source.length)
  const { node, groupCount, groupNames } = parsePattern(source)
  const emitter = new Emitter(charge)
  const start = emitter.emit(node, emitter.add({ kind: 'match' }))
  const { steps } = emitter
  const slots = 2 * (groupCount + 1)
  return {
    groupNames,
    test: (text, charge) => search(steps, start, text, charge),
    exec: (text, from, charge) => capture(steps, start, slots, text, from, charge),
  }
}

/** Compiles several patterns into one search for any of them, which bounds their total size. Throws as for one. */
export function compileAnyOf(patterns: readonly string[]): Pick<LinearRegex, 'test'> {
  if (patterns.length === 0) return { test: () => false }
  // Each by itself first: joined, two invalid patterns could form a valid one.
  for (const pattern of patterns) compileLinearRegex(pattern)
  return compileLinearRegex(patterns.map((pattern) => `(?:${pattern})`).join('|'))
}

/** The pattern has no place in a program of the largest size. */
const tooLarge = () => new Error(`the pattern is too large; it may have ${MAX_STEPS} steps.`)

/** Turns a parsed pattern into the steps of a program. */
class Emitter {
  readonly steps: Step[] = []
  readonly #charge: ChargeSteps
  #size = 0
  #rounds = 0

  constructor(charge: ChargeSteps) {
    this.#charge = charge
  }

  add(step: Step, cost = 0): number {
    this.#size += 1 + cost
    if (this.#size > MAX_STEPS) throw tooLarge()
    return this.steps.push(step) - 1
  }

  /** Adds the steps of a node, which continue at `next`, and returns the index of the first. */
  emit(node: PatternNode, next: number): number {
    // Rounds are bounded by themselves: repetitions of what has no steps, such as (?:), add none.
    if (++this.#rounds > MAX_ROUNDS) throw tooLarge()
    this.#charge(ROUND_COST)
    switch (node.kind) {
      case 'empty':
        return next
      case 'char':
        return this.add({ kind: 'char', set: node.set, next }, node.set.cost)
      case 'assert':
        return this.add({ kind: 'assert', holds: node.holds, next })
      case 'group': {
        const end = this.add({ kind: 'save', slot: 2 * node.index + 1, next })
        return this.add({ kind: 'save', slot: 2 * node.index, next: this.emit(node.child, end) })
      }
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.emit(part, after), next)
      case 'choice':
        return node.options
          .map((option) => this.emit(option, next))
          .reduceRight((second, first) => this.add({ kind: 'fork', first, second }))
      case 'repeat':
        return this.#repeat(node, next)
    }
  }

  #repeat(node: Extract<PatternNode, { kind: 'repeat' }>, next: number): number {
    const { child, min, max } = node
    let entry = next
    if (max !== Number.POSITIVE_INFINITY)
      for (let n = min; n < max; n++) entry = this.#fork(node, this.emit(child, entry), next)
    else if (min > 0) entry = this.#loop(node, next).again
    // What can be empty is tried once before the choice to end: this is what RE2 and Perl prefer.
    else if (child.nullable) entry = this.#fork(node, this.#loop(node, next).again, next)
    else entry = this.#loop(node, next).fork
    for (let n = max === Number.POSITIVE_INFINITY ? 1 : 0; n < min; n++) entry = this.emit(child, entry)
    return entry
  }

  /** The child with, behind it, the choice to repeat it. */
  #loop(node: Extract<PatternNode, { kind: 'repeat' }>, next: number): { again: number; fork: number } {
    const fork = this.#fork(node, next, next)
    const again = this.emit(node.child, fork)
    const step = this.steps[fork] as { first: number; second: number }
    step[node.lazy ? 'second' : 'first'] = again
    return { again, fork }
  }

  /** The preferred way is the first: once more, or the exit when the repetition is lazy. */
  #fork({ lazy }: { readonly lazy: boolean }, again: number, exit: number): number {
    return this.add({ kind: 'fork', first: lazy ? exit : again, second: lazy ? again : exit })
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
      if (step.kind === 'char') {
        work += step.set.cost
        into.push(id)
      } else if (step.kind === 'match') matched = true
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
      if (step.set.accepts(code)) reach(step.next, position, following)
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
      } else {
        if (step.kind === 'char') work += step.set.cost
        into.push(top)
      }
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
      if (!atEnd && (step as Step & { kind: 'char' }).set.accepts(code))
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
