import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileLinearPattern, compileLinearRegex, SearchTooLong } from './linear-pattern.ts'

const PATTERNS = [
  'curl',
  '^curl/',
  'bot$',
  '^$',
  'a|b|cd',
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
  '(?<name>ab)c?',
  '[]a]',
  '\\x41\\/',
  'a??b+?',
]

const ALPHABET = 'abcdxBot 0.1/@-A]'

const SEED = 20_240_613

/** Texts that repeat from run to run. */
function* randomTexts(count: number): Generator<string> {
  let state = SEED
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
  for (let n = 0; n < count; n++)
    yield Array.from({ length: random(9) }, () => ALPHABET[random(ALPHABET.length)]).join('')
}

test('a pattern matches what the built-in engine matches', () => {
  for (const source of PATTERNS.filter((pattern) => pattern !== '[]a]')) {
    const ours = compileLinearPattern(source)
    const theirs = new RegExp(source)
    for (const text of randomTexts(400))
      assert.equal(ours(text), theirs.test(text), `seed ${SEED}: /${source}/ on ${JSON.stringify(text)}`)
  }
})

const CAPTURES = [
  'a|ab',
  '(a|ab)(c|bcd)?',
  '(a+)(b*)',
  '(a+?)(b*)',
  '(.*)/(.*)',
  '(.*?)/(.*?)',
  '^([^/]*)/?(.*)$',
  '(\\d)(\\d)?',
  '(?<word>\\w+)(\\W|$)',
  '(a|(b))c?',
  'x{2,3}?(.)',
  '(a){2}',
  '\\b(\\w)',
]

test('groups capture what they capture in the built-in engine', () => {
  for (const source of CAPTURES) {
    const ours = compileLinearRegex(source)
    const theirs = new RegExp(source)
    for (const text of randomTexts(400)) {
      const expected = theirs.exec(text)
      const match = ours.exec(text)
      const message = `seed ${SEED}: /${source}/ on ${JSON.stringify(text)}`
      assert.deepEqual(match?.groups, expected === null ? undefined : [...expected], message)
      assert.equal(match?.start, expected?.index, message)
    }
  }
})

test('a search can begin inside the text, and a character beyond the basic plane is one character', () => {
  const regex = compileLinearRegex('(?P<first>.)(?P<second>.)$')

  assert.deepEqual(compileLinearRegex('a').exec('aba', 1), { start: 2, end: 3, groups: ['a'] })
  assert.deepEqual(regex.exec('x\u{1f600}y')?.groups, ['\u{1f600}y', '\u{1f600}', 'y'])
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
    assert.equal(compileLinearPattern(source)(text), expected, `${source} on ${JSON.stringify(text)}`)
  // JavaScript forgets in each round what a group captured in the last one; RE2 does not.
  assert.deepEqual(compileLinearRegex('(?:(a)|b)+').exec('ab')?.groups, ['ab', 'a'])
  assert.equal(compileLinearRegex('(?U)a+').exec('aaa')?.groups[0], 'a')
  assert.throws(() => compileLinearPattern('\\p{Klingon}'), /no class/)
  assert.throws(() => compileLinearPattern('(?P<a>x)(?P<a>y)'), /two groups/)
})

test('a search charges for its steps, and an exception of the charge ends it', () => {
  const regex = compileLinearRegex('(a+)+$')
  let steps = 0
  const limited = (units: number) => {
    steps += units
    if (steps > 100) throw new SearchTooLong('enough')
  }

  assert.throws(() => regex.test('a'.repeat(1000), limited), SearchTooLong)
  steps = 0
  assert.throws(() => regex.exec('a'.repeat(1000), 0, limited), SearchTooLong)
})

test('a ] right after [ belongs to the set, and (?i) ignores case until its group ends', () => {
  const set = compileLinearPattern('^[]a]+$')
  const whole = compileLinearPattern('(?i)googlebot')
  const part = compileLinearPattern('^(?i:go)Bot[^x]$')

  assert.ok(set(']a]'))
  assert.ok(whole('Mozilla GoogleBOT/2.1'))
  assert.ok(part('GOBota'))
  assert.ok(!part('gobota'))
})

// A search beyond its budget of steps throws, so one that returns took linear time.
test('patterns that are exponential in other engines take linear time', () => {
  const text = 'a'.repeat(16_000)

  for (const source of ['(a+)+$x', '(a|a)*b', '(a|aa)+$b', '(.*)*x', '([a-z]+)*\\d']) {
    assert.equal(compileLinearPattern(source)(text), false)
  }
})

test('a search beyond its budget throws', () => {
  const text = 'a'.repeat(1024)

  for (const source of ['(a?){300}b', '(.*a){300}$', '([ab]?[ab]?){300}c', `${'a?'.repeat(490)}c`])
    assert.throws(() => compileLinearPattern(source)(text), SearchTooLong, source)
  const fifty = Array.from({ length: 50 }, (_, index) => `(?i)some-crawler/${index}.*compatible`).join('|')
  assert.equal(compileLinearPattern(fifty)(text), false)
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
  }

  for (const [source, reason] of Object.entries(reasons)) {
    assert.throws(() => compileLinearPattern(source), reason, source)
  }
})
