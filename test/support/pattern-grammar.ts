import type { SeededRandom } from './random.ts'

/** Writes random regular expressions of RE2, from these parts. */
export interface PatternGrammar {
  readonly literals: readonly string[]
  /** Classes, assertions and groups without content. */
  readonly atoms: readonly string[]
  readonly setMembers: readonly string[]
  readonly repetitions: readonly string[]
  readonly depth: number
}

const FLAGS = ['i', 's', 'm', 'U', 'is', '-i', 'i-s']

/** Makes one pattern; all of them are valid, though some are too large. */
export function writePattern(random: SeededRandom, grammar: PatternGrammar, depth = grammar.depth): string {
  const several = (most: number, write: () => string) => Array.from({ length: random.below(most + 1) }, write)
  const set = () =>
    `[${random.pick(['', '^'])}${random.pick(grammar.setMembers)}${several(3, () => random.pick(grammar.setMembers)).join('')}]`
  const atom = () => {
    const roll = random.below(depth > 0 ? 12 : 7)
    if (roll < 4) return random.pick(grammar.literals)
    if (roll < 5) return set()
    if (roll < 7) return random.pick(grammar.atoms)
    const inner = writePattern(random, grammar, depth - 1)
    const opening = random.pick(['(', '(?:', '(?:', `(?${random.pick(FLAGS)}:`])
    return `${opening}${inner})`
  }
  const part = () => atom() + (random.below(3) === 0 ? random.pick(grammar.repetitions) : '')
  const sequence = () => several(3, part).join('')
  return random.below(3) === 0 ? [sequence(), ...several(2, sequence)].join('|') : sequence()
}
