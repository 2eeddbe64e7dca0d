import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { compile } from '../cel/index.ts'
import { describeLanguage } from './language.ts'
import { formatLanguagePage } from './language-page.ts'
import { readPolicy } from './validate.ts'
import { environments } from './variables/index.ts'

const language = describeLanguage()

test('docs/traffic-policy-reference.md is what the declarations generate', () => {
  const file = new URL('../../docs/traffic-policy-reference.md', import.meta.url)

  assert.equal(readFileSync(file, 'utf8'), formatLanguagePage(), 'run: node scripts/policy-reference.ts')
})

test('the example of every action is a valid policy', () => {
  for (const { type, phases, example } of language.actions)
    for (const phase of phases) {
      // The URL to forward to depends on the phase; the example is for requests.
      if (type === 'forward-internal' && phase === 'on_tcp_connect') continue
      readPolicy(JSON.stringify({ [phase]: [{ actions: parse(example) }] }), {
        protocol: 'https',
        kind: 'endpoint',
      })
    }
})

test('every variable that is described can be read in each of its phases, and in no other', () => {
  for (const { name, type, phases } of language.variables) {
    const source = name.replaceAll('[].', '[0].').replaceAll('[]', "['a']")
    for (const [phase, environment] of Object.entries(environments))
      assert.equal(
        compile(source, environment).ok,
        phases.includes(phase as never),
        `${source} (${type}) in ${phase}`,
      )
  }
})

test('the fields of configurations have their limits, defaults and choices', () => {
  const fields = Object.fromEntries(
    language.actions.flatMap(({ type, fields }) => fields.map((field) => [`${type} ${field.name}`, field])),
  )
  assert.deepEqual(fields['rate-limit capacity'], {
    name: 'capacity',
    type: 'whole number, 1 to 2000000000',
    required: true,
    description: 'requests that may pass in the time of `rate`',
  })
  assert.deepEqual(
    [
      fields['rate-limit rate']?.type,
      fields['rate-limit enforce']?.default,
      fields['rate-limit enforce']?.required,
    ],
    ['duration, 60s to 86400s', true, false],
  )
  assert.deepEqual(fields['jwt-validation http.tokens[].method']?.choices, ['header', 'body'])
})
