import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { formatError, hideSecrets, serializeError } from './serialize-error.ts'

const TOKEN = `${'2'.repeat(27)}_${'Zq'.repeat(22).slice(1)}`
const SECRETS = ['s3cret-password', TOKEN, 'bearer-value', 'property-value', 'environment-value']

/** An error as a library throws it: secrets in its message, its cause and its properties. */
const THROW = `
  const cause = new Error('request with Authorization: Bearer bearer-value failed')
  const message = 'cannot connect to postgres://adit:s3cret-password@db.test:5432/adit with ${TOKEN}'
  const error = Object.assign(new Error(message, { cause }), {
    code: 'ECONNREFUSED',
    config: { password: 'property-value', env: process.env },
  })`
const createError = new Function(`${THROW}; return error`) as () => Error

test('secrets in messages are hidden, the rest of the message stays', () => {
  assert.equal(
    hideSecrets(`postgres://adit:a%40b@db.test/x, Basic dXNlcjpw, ${TOKEN}.`),
    'postgres://adit:[hidden]@db.test/x, Basic [hidden], [hidden].',
  )
  assert.equal(hideSecrets('https://a.test:8443/x@y took 3 s'), 'https://a.test:8443/x@y took 3 s')
})

test('the log has type, message, named properties, stack and causes of an error, and none of its other properties', () => {
  const fields = serializeError(createError()) as Record<string, unknown>

  assert.deepEqual(Object.keys(fields), ['type', 'message', 'stack', 'code', 'cause'])
  assert.equal(fields.message, 'cannot connect to postgres://adit:[hidden]@db.test:5432/adit with [hidden]')
  for (const secret of SECRETS) assert.ok(!JSON.stringify(fields).includes(secret), secret)
  assert.ok(!SECRETS.some((secret) => formatError(createError()).includes(secret)))
})

test('an error that is its own cause is serialised', () => {
  const error = new Error('loop')
  error.cause = error

  assert.match(JSON.stringify(serializeError(error)), /loop/)
  assert.match(formatError(error), /loop/)
})

for (const [title, throwing] of [
  ['an exception', 'setTimeout(() => { throw error })'],
  ['an unhandled rejection', 'void Promise.reject(error)'],
  ['a rejected command', 'throw error'],
] as const)
  test(`${title} ends a command with its stack and without its secrets`, async () => {
    const module = JSON.stringify(join(import.meta.dirname, '../process/run-command.ts'))
    const script = `import { runCommand } from ${module}
      setInterval(() => {}, 1000)
      await runCommand(async () => {${THROW}; ${throwing}; await new Promise(() => {}) })`
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ADIT_DATABASE_URL: 'environment-value' },
    })

    const { code, stderr } = await run.then(
      () => assert.fail('the command succeeded'),
      (error: { code: number; stderr: string }) => error,
    )

    assert.equal(code, 1)
    assert.match(stderr, /^ERROR: {2}Error: cannot connect to postgres:\/\/adit:\[hidden\]@db\.test/)
    assert.match(stderr, /\n\s+at /)
    assert.match(stderr, /caused by Error: request with Authorization: Bearer \[hidden\] failed/)
    for (const secret of SECRETS) assert.ok(!stderr.includes(secret), `${secret}: ${stderr}`)
  })
