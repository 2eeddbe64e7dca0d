import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { catalogue } from '../api/problems.ts'
import { protocolErrors } from '../protocol/index.ts'
import { formatErrorDocument } from './document.ts'
import { explainErrors, findError, loadErrorCatalogue, renderExplanation } from './index.ts'
import { replaceFailureTable } from './sign-in-failures.ts'

const entries = await loadErrorCatalogue()

test('every error code has one meaning, with a cause and a next step', () => {
  const codes = entries.map(({ code }) => code)

  assert.equal(new Set(codes).size, codes.length)
  assert.ok(codes.length > 100, 'the catalogue is empty, so it proves nothing')
  for (const { code, cause, next } of entries)
    for (const sentence of [cause, next]) assert.match(sentence, /^[A-Z`].{5,}\.$/, code)
})

test('every number of the agent protocol is explained, there or by the API that shares it', () => {
  const numbers = Object.values(protocolErrors).flatMap(({ number }) => number ?? [])
  const codes = new Set(entries.map(({ code }) => code))

  assert.deepEqual(
    numbers.filter((number) => !codes.has(`ERR_ADIT_${number}`)),
    [],
  )
})

test('every error message of the API is a complete sentence', () => {
  for (const [name, { text }] of Object.entries(catalogue)) {
    const sentence = (text as (...args: string[]) => string)('Fact one.', 'fact two', 'fact three')
    assert.match(sentence, /^\S.*[.:…]$/s, name)
  }
})

test('docs/errors.md is what the declarations generate', () => {
  const file = new URL('../../docs/errors.md', import.meta.url)

  assert.equal(readFileSync(file, 'utf8'), formatErrorDocument(entries), 'run: node scripts/errors.ts')
})

test('the table of failed sign-ins in docs/login.md is what the declarations generate', async () => {
  const document = readFileSync(new URL('../../docs/login.md', import.meta.url), 'utf8')

  assert.equal(document, await replaceFailureTable(document), 'run: node scripts/errors.ts')
})

test('a code is found by its number, in any case, and in the dialect of the original', () => {
  for (const code of ['ERR_ADIT_334', 'err_adit_334', 'ERR_NGROK_334', '334'])
    assert.equal(findError(entries, code)?.code, 'ERR_ADIT_334', code)
  for (const code of ['ERR_ADIT_1', '', 'ERR_ADIT_', '33'])
    assert.equal(findError(entries, code), undefined, code)
})

test('an explanation fits a terminal of 80 columns', async () => {
  const text = await explainErrors('ERR_ADIT_334')

  assert.equal(
    text,
    `ERR_ADIT_334 (Agents and SSH clients)

  Another tunnel serves this address.

Next step
  Stop it, or set \`--pooling-enabled\` on both to share the address.
`,
  )
  for (const { code } of entries)
    for (const line of (await explainErrors(code)).split('\n')) assert.ok(line.length <= 80, line)
})

test('the list has every code, and an unknown code names the list', async () => {
  const list = await explainErrors('errors')

  for (const { code } of entries) assert.ok(list.includes(`  ${code} `), code)
  await assert.rejects(
    explainErrors('ERR_ADIT_1'),
    /there is no error code ERR_ADIT_1\nAll codes: adit help errors/,
  )
})

test('pages escape their texts and mark code', () => {
  const entry = {
    code: 'ERR_ADIT_1',
    number: 1,
    area: 'A & B',
    status: 400,
    cause: 'It is <b>.',
    next: 'Run `x`.',
  }

  const page = renderExplanation(entry)

  assert.match(page, /<h1>ERR_ADIT_1<\/h1><p>A &amp; B, status 400<\/p>/)
  assert.match(page, /It is &lt;b&gt;\./)
  assert.match(page, /Run <code>x<\/code>\./)
})
