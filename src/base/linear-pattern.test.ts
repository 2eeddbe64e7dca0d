import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileLinearPattern, SearchTooLong } from './linear-pattern.ts'

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

test('a pattern matches what the built-in engine matches', () => {
  const seed = 20_240_613
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }

  for (const source of PATTERNS.filter((pattern) => pattern !== '[]a]')) {
    const ours = compileLinearPattern(source)
    const theirs = new RegExp(source)
    for (let n = 0; n < 400; n++) {
      const text = Array.from({ length: random(9) }, () => ALPHABET[random(ALPHABET.length)]).join('')
      assert.equal(ours(text), theirs.test(text), `seed ${seed}: /${source}/ on ${JSON.stringify(text)}`)
    }
  }
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
