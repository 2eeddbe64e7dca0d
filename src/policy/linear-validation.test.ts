import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureThreadCpu } from '../../test/support/thread-cpu.ts'
import { PolicyError } from './issue.ts'
import { readPolicy } from './validate.ts'

const ENDPOINT = { protocol: 'https', kind: 'endpoint' } as const

/** Usual is a tenth; 20,000 mistakes took 20 seconds, a rule of 50 expressions behind 99 aliases as many. */
const MAX_CPU_MS = 2500

const rule = (fields: string) => `on_http_request:\n - actions: [{type: deny}]\n${fields}`
const lines = (count: number, write: (index: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n)).join('\n')
const config = (text: string) =>
  `on_http_request:\n - actions:\n    - type: set-vars\n      config:\n        vars: [{a: ${text}}]`

/** With far more mistakes than are shown. */
const POLICIES: Readonly<Record<string, string>> = {
  'unknown phases': lines(12_000, (n) => `f${n}: 1`),
  'unknown fields of a rule': rule(lines(12_000, (n) => `   f${n}: 1`)),
  'unknown fields of a configuration': `on_http_request:\n - actions:\n    - type: deny\n      config:\n${lines(12_000, (n) => `       f${n}: 1`)}`,
  'expressions with mistakes': `on_http_request:\n${lines(400, () => ` - expressions: [${'b,'.repeat(50)}]\n   actions: [{type: deny}]`)}`,
  anchors: lines(12_000, (n) => `f${n}: &a${n} 1`),
  aliases: `f: &a 1\n${lines(12_000, (n) => `f${n}: *a`)}`,
  'the same key': lines(20_000, () => 'f: 1'),
  'values with many templates': `${config(`"${'${1}'.repeat(20_000)}"`)}\n - actions: [{type: x}]`,
  'texts with mistakes': config(`[${'"${",'.repeat(20_000)}]`),
  'deep nesting': `{"on_http_request":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
}

for (const [name, text] of Object.entries(POLICIES))
  test(`a long policy with ${name} is checked in time linear in its length`, async () => {
    assert.ok(text.length < 256 * 1024, `${text.length}`)

    const ms = await measureThreadCpu(() => assert.throws(() => readPolicy(text, ENDPOINT), PolicyError))

    assert.ok(ms < MAX_CPU_MS, `${ms} ms`)
  })

test('the first 20 mistakes are named, each with its line, and the others counted', () => {
  const text = rule(lines(50, (n) => `   f${n}: 1`))

  assert.throws(
    () => readPolicy(text, ENDPOINT),
    (error: PolicyError) => {
      assert.deepEqual([error.issues.length, error.more, error.lines.at(-1)], [20, 30, 'and 30 more'])
      assert.deepEqual(
        error.issues.map(({ line }) => line),
        Array.from({ length: 20 }, (_, n) => n + 3),
      )
      return true
    },
  )
})

const repeatedRule = (count: number) =>
  `on_http_request:\n - &r\n   actions: [{type: deny}]\n   expressions:\n${lines(50, (n) => `    - "req.method == '${n}'${" || req.method == 'GET'".repeat(80)}"`)}\n${' - *r\n'.repeat(count)}`

test('what aliases expand to counts against the size of a policy', async () => {
  const ms = await measureThreadCpu(() =>
    assert.throws(
      () => readPolicy(repeatedRule(99), ENDPOINT),
      /larger than 256 KiB with its aliases expanded/,
    ),
  )

  assert.ok(ms < MAX_CPU_MS, `${ms} ms`)
  assert.equal(readPolicy(repeatedRule(1), ENDPOINT).phases.on_http_request?.length, 2)
})

test('equal expressions and texts are compiled once', () => {
  const text = `on_http_request:
 - &r
   expressions: ["req.host == 'a'"]
   actions: [{type: log, config: {metadata: {a: "\${req.host}"}}}]
 - *r`

  const [first, second] = readPolicy(text, ENDPOINT).phases.on_http_request!
  assert.equal(first!.conditions[0], second!.conditions[0])
  const templateOf = (rule: typeof first) =>
    (rule!.actions[0]!.config as { metadata: unknown[][] }).metadata[0]![1]
  assert.equal(templateOf(first), templateOf(second))
})

test('a key that occurs twice and an alias without a value are refused with their line', () => {
  assert.throws(() => readPolicy('a: 1\nb: 2\na: 3', ENDPOINT), /Map keys must be unique: "a" \(line 3/)
  assert.throws(
    () => readPolicy('a: 1\nb: *c', ENDPOINT),
    /alias \*c does not come after its value \(line 2|[Aa]lias/,
  )
  assert.throws(() => readPolicy('a: &a [1, *a]', ENDPOINT), /does not come after its value/)
})

test('a policy writes nothing to the standard error of the server', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))

  for (const text of ['? [a]\n: 1', '%FOO\n---\na: 1', 'a: !foo 1'])
    assert.throws(() => readPolicy(text, ENDPOINT), PolicyError)

  // Warnings are emitted in the next tick.
  await new Promise(setImmediate)
  assert.deepEqual(warnings, [])
})
