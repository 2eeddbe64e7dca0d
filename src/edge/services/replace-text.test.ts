// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is what replacements hold
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileLinearRegex, createSearchBudget, SearchTooLong } from '../../base/pattern/linear-pattern.ts'
import { replaceAll } from './replace-text.ts'
import { type ReplacementJob, runReplacementJob } from './replacement-job.ts'

const replace = (text: string, from: string, to: string, maxSteps?: number) =>
  replaceAll(text, { regex: compileLinearRegex(from), to }, createSearchBudget(maxSteps))

test('groups stand in a replacement by number and by name, and what is no group is kept or empty', () => {
  const cases: [from: string, to: string, expected: string][] = [
    ['(?P<first>\\w)(\\w)', '$2$first', 'baba-dcdc'],
    ['(?P<first>\\w)(\\w)', '${first}$1x', 'aaxaax-ccxccx'],
    ['\\w(x)?', '[$0$1$9$none]', '[a][b][a][b]-[c][d][c][d]'],
    ['-', '$$1$', 'abab$1$cdcd'],
    ['x*', '.', '.a.b.a.b.-.c.d.c.d.'],
  ]

  for (const [from, to, expected] of cases) assert.equal(replace('abab-cdcd', from, to).text, expected, from)
})

test('one budget covers all matches, and the text that takes their place', () => {
  const text = 'a'.repeat(1000)

  assert.equal(replace(text, 'a', 'b').matches.length, 1000)
  // Each match reads what is left of the text.
  assert.throws(() => replace(text, 'a(?:[^c]*c)?', 'b'), SearchTooLong)
  assert.throws(() => replace(text, 'a', 'b'.repeat(1000)), SearchTooLong)
  assert.throws(() => replace(text, '(a+)', '$1'.repeat(1000)), SearchTooLong)
})

test('one budget covers all replacements of a job, also of texts without operators', () => {
  const job = (count: number, from: string, to: string): ReplacementJob => ({
    body: Buffer.alloc(1024 * 1024, 'a'),
    coding: '',
    replacements: Array.from({ length: count }, () => ({ from, to })),
    maxWork: 1_000_000,
  })

  assert.equal(runReplacementJob(job(1, 'b', 'c')), undefined)
  for (const [from, to] of [
    ['(a|b)c', 'x'],
    ['b', 'x'],
    ['a', 'a'],
  ] as const)
    assert.throws(() => runReplacementJob(job(200, from, to)), SearchTooLong, from)
})
