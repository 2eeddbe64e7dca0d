import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RE2JS } from 're2js'
import { countSteps } from '../../../test/support/count-steps.ts'
import { type PatternGrammar, writePattern } from '../../../test/support/pattern-grammar.ts'
import { createRandom, rounds } from '../../../test/support/random.ts'
import { compileLinearRegex, createSearchBudget, type LinearMatch, SearchTooLong } from './linear-pattern.ts'

type Engine = typeof import('./linear-pattern.ts')

const matches = (source: string, text: string): boolean =>
  compileLinearRegex(source).test(text, createSearchBudget())

const find = (source: string, text: string, from = 0): LinearMatch | undefined =>
  compileLinearRegex(source).exec(text, from, createSearchBudget())

/** What a port of RE2 finds. */
function findWithRe2(source: string, text: string): LinearMatch | undefined {
  const matcher = RE2JS.compile(source).matcher(text)
  if (!matcher.find()) return undefined
  const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, n) => matcher.group(n) ?? undefined)
  return { start: matcher.start(), end: matcher.end(), groups }
}

const PATTERNS = [
  'curl',
  '^curl/',
  'bot$',
  '^$',
  'a|ab|b|cd',
  '(?:ab)+c',
  '(ab|a)(c|bcd)*$',
  '[a-c]{2,3}x',
  '[^a-z]',
  '\\bbot\\b',
  '\\d+\\.\\d+',
  'x*',
  '(a*)*b',
  '(a|a)*b',
  'a{0,2}b{2}',
  '[\\w.-]+@',
  'a.c',
  '(?P<name>ab)c?',
  '[]a]',
  '\\x41\\/',
  'a??b+?',
  '(a|ab)(c|bcd)?',
  '(a+)(b*)',
  '(a+?)(b*)',
  '(.*)/(.*)',
  '(.*?)/(.*?)',
  '^([^/]*)/?(.*)$',
  '(\\d)(\\d)?',
  '(?P<word>\\w+)(\\W|$)',
  '(a|(b))c?',
  'x{2,3}?(.)',
  '(a){2}',
  '\\b(\\w)',
  '(?:(a)|b)+',
  '(?:|a)*',
  '(?:|a)+',
  '(?:|a|b){2,}?',
  '(?:a*?){0,}',
  '\\101\\x{00000042}?',
]

const TEXTS = ['a', 'b', 'c', 'd', 'x', 'B', 'o', 't', ' ', '0', '.', '1', '/', '@', '-', 'A', ']']

/** Letters whose cases are more than two, or that change their length or their script with their case. */
const CASED = [
  'K',
  's',
  'ſ',
  'K',
  'ß',
  'ẞ',
  'Σ',
  'ς',
  'σ',
  'İ',
  'ı',
  'i',
  'é',
  'É',
  'ǅ',
  'ǆ',
  'ϴ',
  'ᾳ',
  'ᾼ',
  'Ꭰ',
]

const GRAMMAR: PatternGrammar = {
  literals: ['a', 'b', '\\.', '😀', ...CASED],
  atoms: [
    '.',
    '^',
    '$',
    '\\b',
    '\\B',
    '\\d',
    '\\W',
    '\\s',
    '\\pL',
    '\\p{Lu}',
    '\\P{Greek}',
    '()',
    '(?:)',
    '(?i:)',
  ],
  setMembers: ['a-c', 'A-Z', 'α-ω', '[:^upper:]', '[:punct:]', '\\W', '\\pN', '\\PL', 'ſ-ƀ', 'k', 'ς'],
  repetitions: ['*', '+', '?', '*?', '+?', '??', '{2}', '{0,2}', '{0}', '{1,}', '{2,}?'],
  depth: 3,
}

function assertFindsAsRe2(source: string, text: string, seed: number): void {
  const message = `seed ${seed}: /${source}/ on ${JSON.stringify(text)}`
  const expected = findWithRe2(source, text)

  assert.deepEqual(find(source, text), expected, message)
  assert.equal(matches(source, text), expected !== undefined, message)
}

test('a pattern matches, and its groups capture, what they do in RE2', () => {
  const random = createRandom()
  for (const source of PATTERNS) {
    for (let n = 0; n < 100; n++) {
      const text = Array.from({ length: random.below(9) }, () => random.pick(TEXTS)).join('')
      assertFindsAsRe2(source, text, random.seed)
    }
  }
})

test('random patterns find what they find in RE2', () => {
  const random = createRandom()
  const characters = ['a', 'b', 'c', '.', '1', ' ', '\n', '_', '😀', ...CASED]
  for (const _ of rounds(1000)) {
    const source = writePattern(random, GRAMMAR)
    for (let n = 0; n < 10; n++) {
      const text = Array.from({ length: random.below(8) }, () => random.pick(characters)).join('')
      assertFindsAsRe2(source, text, random.seed)
    }
  }
})

test('a search can begin inside the text, and a character beyond the basic plane is one character', () => {
  const regex = compileLinearRegex('(?P<first>.)(?P<second>.)$')

  assert.deepEqual(find('a', 'aba', 1), { start: 2, end: 3, groups: ['a'] })
  assert.deepEqual(find('(?P<first>.)(?P<second>.)$', 'x\u{1f600}y')?.groups, [
    '\u{1f600}y',
    '\u{1f600}',
    'y',
  ])
  assert.deepEqual(
    [...regex.groupNames],
    [
      ['first', 1],
      ['second', 2],
    ],
  )
})

test('flags, quotations, named sets and classes of Unicode are those of RE2', () => {
  const cases: [source: string, text: string, expected: boolean][] = [
    ['(?s)^a.b$', 'a\nb', true],
    ['^a.b$', 'a\nb', false],
    ['(?m)^b$', 'a\nb\nc', true],
    ['^b$', 'a\nb\nc', false],
    ['(?im)^B$', 'a\nb', true],
    ['(?i:a)(?-i:b)', 'AB', false],
    ['\\Qa.b\\E+', 'a.bb', true],
    ['\\Qa.b\\E', 'axb', false],
    ['^[[:alpha:]_]+$', 'ab_c', true],
    ['^[[:^digit:]]+$', 'ab1', false],
    ['^\\pL+$', 'gr\u00fc\u00df', true],
    ['^\\p{Greek}$', 'a', false],
    ['^\\P{Greek}$', 'a', true],
    ['(?i)STRA\u00dcE', 'stra\u00fce', true],
    ['^\\x{1F600}$', '\u{1f600}', true],
    ['^[\u{1f600}-\u{1f64f}]$', '\u{1f610}', true],
  ]

  for (const [source, text, expected] of cases)
    assert.equal(matches(source, text), expected, `${source} on ${JSON.stringify(text)}`)
  assert.equal(find('(?U)a+', 'aaa')?.groups[0], 'a')
  assert.throws(() => compileLinearRegex('\\p{Klingon}'), /no class/)
  assert.throws(() => compileLinearRegex('(?P<a>x)(?P<a>y)'), /two groups/)
})

test('one budget covers all searches that are given it, and compiling', () => {
  const regex = compileLinearRegex('(a+)+$')
  const text = 'a'.repeat(1000)
  const budget = createSearchBudget(20_000)

  regex.exec(text, 0, budget)
  assert.throws(() => regex.test(text.repeat(3), budget), SearchTooLong)
  assert.throws(() => compileLinearRegex('a{1000}', createSearchBudget(1000)), SearchTooLong)
  assert.throws(() => compileLinearRegex('a'.repeat(1000), createSearchBudget(1000)), SearchTooLong)
})

test('a ] right after [ belongs to the set, and (?i) ignores case until its group ends', () => {
  assert.ok(matches('^[]a]+$', ']a]'))
  assert.ok(matches('(?i)googlebot', 'Mozilla GoogleBOT/2.1'))
  assert.ok(matches('^(?i:go)Bot[^x]$', 'GOBota'))
  assert.ok(!matches('^(?i:go)Bot[^x]$', 'gobota'))
})

// A search beyond its budget of steps throws, so one that returns took linear time.
test('patterns that are exponential in other engines take linear time', () => {
  const text = 'a'.repeat(16_000)

  for (const source of ['(a+)+$x', '(a|a)*b', '(a|aa)+$b', '(.*)*x', '([a-z]+)*\\d']) {
    assert.equal(matches(source, text), false)
  }
})

test('a search beyond its budget throws', () => {
  const text = 'a'.repeat(1024)

  for (const source of ['(a?){300}b', '(.*a){300}$', '([ab]?[ab]?){300}c', `${'a?'.repeat(490)}c`])
    assert.throws(() => matches(source, text), SearchTooLong, source)
  const fifty = Array.from({ length: 50 }, (_, index) => `(?i)some-crawler/${index}.*compatible`).join('|')
  assert.equal(matches(fifty, text), false)
})

test('a pattern that cannot be matched in linear time, or at all, is rejected with its reason', () => {
  const reasons: Record<string, RegExp> = {
    '(a)\\1': /back-references/,
    '(?=a)': /look-around/,
    '(?<!a)b': /look-around/,
    '(': /too early|no \)/,
    ')': /without its \(/,
    '[a': /too early/,
    '*a': /nothing before/,
    'a**': /repeated/,
    'a{2,1}': /before it begins/,
    'a{1001}': /more than 1000/,
    '((a{100}){100})': /too large/,
    '\\q': /not known/,
    [`${'('.repeat(60)}${')'.repeat(60)}`]: /nested/,
    ['a?'.repeat(20_000)]: /too long/,
    '\\x{110000}': /last character/,
  }

  for (const [source, reason] of Object.entries(reasons)) {
    assert.throws(() => compileLinearRegex(source), reason, source)
  }
})

const nest = (open: string, inner: string, close: string, depth: number) =>
  open.repeat(depth) + inner + close.repeat(depth)

const manyLetters = (count: number) =>
  Array.from({ length: count }, (_, n) => String.fromCodePoint(0x4e00 + 3 * n)).join('')

/** Patterns that are built to take long, with what they are searched in. */
const HOSTILE: Readonly<Record<string, readonly [source: string, text: string]>> = {
  'nested counts of nothing': [nest('(?:', '', '){1000}', 3), 'a'],
  'nested counts of empty groups': [nest('(?:', '()', '){1000}', 3), 'a'],
  'nested counts of empty alternatives': [nest('(?:', '|', '){1000}', 3), 'a'],
  'nested counts of what is repeated no times': [nest('(?:', 'a{0}', '){1000}', 3), 'a'],
  'nested counts of flags': [nest('(?:', '(?i)', '){1000}', 3), 'a'],
  'nested counts of assertions': [nest('(?:', '^', '){1000}', 3), 'a'],
  'counts beside each other': ['(?:(?:){1000}){9}'.repeat(1800), 'a'],
  'alternatives that are empty': [`(?:${'|'.repeat(30_000)})*b`, 'a'.repeat(1000)],
  'empty loops in each other': [nest('(?:', '', ')*', 49), 'a'.repeat(1000)],
  'groups in each other': [nest('(', 'a*', ')*', 49), 'a'.repeat(8000)],
  'a large set': [`[${manyLetters(30_000)}]+$x`, '\u4e01'.repeat(8000)],
  'a large set that ignores case': [`(?i)[${manyLetters(30_000)}]+$x`, '\u4e01'.repeat(8000)],
  'large sets, repeated': [`(?i:[^${manyLetters(900)}]){1000}x`, '\u0101'.repeat(8000)],
  'sets of many classes': [`(?i)[^${'\\pL\\p{Lu}\\PN\\p{^Greek}'.repeat(30)}]*x`, '\u0101'.repeat(8000)],
  'many sets': ['(?i)[\\pL\\W[:^alpha:]]'.repeat(1200), '\u0101'.repeat(8000)],
  'many groups': [`(?:${'(a)|'.repeat(490)}b)*c`, 'a'.repeat(8000)],
}

function compileAndSearch(
  { compileLinearRegex, createSearchBudget }: Pick<Engine, 'compileLinearRegex' | 'createSearchBudget'>,
  source: string,
  text: string,
) {
  try {
    const budget = createSearchBudget()
    const regex = compileLinearRegex(source)
    regex.test(text, budget)
    regex.exec(text, 0, budget)
  } catch (error) {
    assert.match((error as Error).message, /too large|too long/)
  }
}

// The budget counts the steps of a search; this counts what the processor does, so that none of it is forgotten.
test('a hostile pattern takes few steps, to compile and to search together', async () => {
  for (const [name, [source, text]] of Object.entries(HOSTILE)) {
    const steps = await countSteps<Engine>(
      new URL('./linear-pattern.ts', import.meta.url).href,
      (engine) => () => compileAndSearch(engine, source, text),
    )
    assert.ok(steps < 5_000_000, `${name}: ${steps}`)
  }
})

test('a character is looked up in a large set in few steps', async () => {
  const letters = Array.from(manyLetters(30_000), (letter): [number, number] => [
    letter.codePointAt(0)!,
    letter.codePointAt(0)!,
  ])
  const url = new URL('./linear-pattern-set.ts', import.meta.url).href
  const steps = await countSteps<typeof import('./linear-pattern-set.ts')>(url, ({ charSet }) => {
    const { accepts } = charSet({ ranges: letters, properties: [] }, true)
    return () => {
      for (let code = 0x80; code < 1080; code++) accepts(code)
    }
  })

  // The letters of Unicode that have cases are read once.
  assert.ok(steps < 1_000_000, `${steps}`)
})

const HOSTILE_GRAMMAR: PatternGrammar = {
  literals: ['a', 'b', 'é'],
  atoms: ['()', '(?:)', '(?:|)', '(|a)', '(?i:)', '^', '\\b', '.', '\\pL', '(?i:\\PN)'],
  setMembers: [manyLetters(300), '\\pL', '\\W', '\\P{Greek}', 'a-é', '[:^alpha:]'],
  repetitions: ['*', '+?', '{0}', '{1000}', '{0,1000}', '{2,}', '{999,1000}?', '{30}'],
  depth: 5,
}

// Processor time, since the sets and the built-in engine behind them have no steps to count. It is what a budget takes on
// a slow machine, many times over; patterns that escape it take minutes.
test('random hostile patterns take a bounded time, to compile and to search together', () => {
  const random = createRandom()
  for (const _ of rounds(300)) {
    const source = random.pick(['', '(?i)']) + writePattern(random, HOSTILE_GRAMMAR)
    const text = random.pick(['a', 'ab', 'é', 'aé ', 'ſ一']).repeat(random.pick([1, 100, 4000]))
    const start = process.threadCpuUsage()
    compileAndSearch({ compileLinearRegex, createSearchBudget }, source, text)
    const { user, system } = process.threadCpuUsage(start)
    assert.ok(user + system < 2_000_000, `seed ${random.seed}: ${source} on ${text.length} characters`)
  }
})
