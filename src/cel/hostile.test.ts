import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from './compile.ts'
import { Environment } from './environment.ts'
import { STRING } from './types.ts'
import { CostExceeded } from './values.ts'

const text = 'a'.repeat(8192)
const environment = new Environment({ variables: { text: { type: STRING, read: () => text } } })

const REJECTED: Record<string, string> = {
  'deep parentheses': `${'('.repeat(5000)}1${')'.repeat(5000)}`,
  'deep lists': `${'['.repeat(5000)}${']'.repeat(5000)}`,
  'deep maps': `${'{1:'.repeat(5000)}1${'}'.repeat(5000)}`,
  'deep calls': `${'size('.repeat(5000)}text${')'.repeat(5000)}`,
  'deep indices': `${'[0]['.repeat(5000)}0${']'.repeat(5000)}`,
  'deep conditionals': `${'true ? '.repeat(2000)}1${' : 1'.repeat(2000)}`,
  'long chain of conditionals': `${'true ? 1 : '.repeat(2000)}1`,
  'many signs': `${'-'.repeat(5000)}x`,
  'many negations': `${'!'.repeat(5000)}true`,
  'long sum': Array.from({ length: 5000 }, () => '1').join('+'),
  'long sum of nested sums': `${'('.repeat(90)}1${'+1)'.repeat(90)}${'+1'.repeat(300)}`,
  'long chain of fields': `text${'.a'.repeat(5000)}`,
  'long chain of methods': `text${'.trim()'.repeat(3000)}`,
  'nested macros': `${'[1].map(x, '.repeat(500)}1${')'.repeat(500)}`,
  'long source': ' '.repeat(40_000),
  'pattern with too many steps': "text.matches('((a{100}){100})')",
  'unbalanced quotes': '"'.repeat(9999),
}

for (const [name, source] of Object.entries(REJECTED)) {
  test(`${name}: rejected, without exhausting the stack`, () => {
    const compilation = compile(source, environment)

    assert.equal(compilation.ok, false)
  })
}

const digits = '[0,1,2,3,4,5,6,7,8,9]'
const nestedLoops = (macro: string, depth: number) =>
  Array.from({ length: depth }, (_, n) => `${digits}.${macro}(x${n}, `).join('') +
  `x0 ${macro === 'all' ? '<' : '>'} 99${')'.repeat(depth)}`

const EXPENSIVE: Record<string, string> = {
  'nested all()': nestedLoops('all', 8),
  'nested exists()': nestedLoops('exists', 8),
  'nested map()': `${Array.from({ length: 8 }, (_, n) => `${digits}.map(x${n}, `).join('')}1${')'.repeat(8)}`,
  'errors that || ignores': `lists.range(20000).exists(x, 1 / 0 == x || x / 0 == 1)`,
  'doubled texts': `cel.bind(a, text + text, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, cel.bind(e, d + d, cel.bind(f, e + e, cel.bind(g, f + f, cel.bind(h, g + g, cel.bind(i, h + h, i + i + i + i + i + i)))))))))`,
  'doubled lists': `${Array.from({ length: 30 }, (_, n) => `cel.bind(v${n}, ${n === 0 ? '[1, 2]' : `v${n - 1} + v${n - 1}`}, `).join('')}v29${')'.repeat(30)}`,
  'a list of lists': 'lists.range(100000000)',
  'joined texts': "lists.range(5000).map(x, text).join('')",
  'repeated replacement': `text${".replace('a', 'aaaaaaaa')".repeat(8)}`,
  'formatted texts': "'%s%s%s%s'.format([lists.range(50000), 1, 2, 3])",
  'compared lists': 'lists.range(30000).all(x, lists.range(300) == lists.range(300))',
  'a sorted list of texts': 'lists.range(20000).map(x, text + string(x)).sort()',
  'distinct lists': 'lists.range(3000).map(x, [x]).distinct()',
  'sets of everything': 'sets.contains(lists.range(9000), lists.range(9000))',
  'members of long lists': 'lists.range(9000).all(x, x in lists.range(9000))',
  'split texts': "lists.range(9000).all(x, size(text.split('')) > 0)",
  'searched texts': "lists.range(9000).all(x, !text.contains('aaaaab'))",
  'many time zones': "lists.range(9000).all(x, timestamp(x).getHours('Europe/Berlin') >= 0)",
  'compiled patterns': "lists.range(9000).all(x, text.matches('a{1,9}' + string(x)))",
  'short patterns with many steps': "lists.range(9000).all(x, !'b'.matches('a{999}' + string(x)))",
  'a pattern in a macro': "lists.range(9000).all(x, text.matches('^(?:a|b)*$'))",
  'pattern with many threads': "text.matches('(a?){300}b')",
  'pattern with nested repetitions': "(text + text + text + text).matches('(.*a){100}$')",
}

for (const [name, source] of Object.entries(EXPENSIVE)) {
  test(`${name}: ends when the budget is spent`, () => {
    const compilation = compile(source, environment)

    assert.ok(compilation.ok)
    assert.throws(() => compilation.program.evaluate({}), CostExceeded)
  })
}

test('patterns that are exponential in other engines are cheap', () => {
  for (const pattern of ['(a+)+$', '(a|a)*b', '^(a|aa)+$', '(.*)*x']) {
    const compilation = compile(`text.substring(0, 2000).matches('${pattern}') || true`, environment)

    assert.ok(compilation.ok)
    assert.equal(compilation.program.evaluate({}), true)
  }
})

test('thousands of alternatives are one level', () => {
  const compilation = compile(Array.from({ length: 2000 }, () => "text=='b'").join('||'), environment)

  assert.ok(compilation.ok)
  assert.equal(compilation.program.evaluate({}), false)
})
