import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { installNpm, installPython } from './installs.ts'
import { assertSameUse } from './same-use.ts'

/** The senders are the libraries for Node; each sends what is signed, and the same with one byte changed. */
const SENDERS = ['stripe@23.1.0', '@octokit/webhooks@14.2.0', 'svix@2.5.0']

test('webhooks: stripe, octokit and svix for Node verify the raw body', async (t) => {
  const programs = await installNpm(t, ...SENDERS, 'express@5.3.0')
  if (programs === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      await startServiceProgram(t, programs.script('webhooks-server.mjs', String(port)), { port })
      return port
    },
    async ({ url, run }) =>
      JSON.parse(await run(programs.script('webhooks-sender.mjs', url, 'stripe', 'octokit', 'svix'))),
  )
  if (seen === undefined) return
  assert.deepEqual(
    new Set(seen.map(({ genuine, forged }: Record<string, number>) => `${genuine} ${forged}`)),
    new Set(['200 400']),
  )
})

test('webhooks: stripe and svix for Python verify the raw body', {
  skip: missingPrograms('python3'),
}, async (t) => {
  const programs = await installNpm(t, ...SENDERS, 'express@5.3.0')
  const receivers = await installPython(t, 'stripe==16.1.0', 'svix==2.9.1', 'flask==3.1.3')
  if (programs === undefined || receivers === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      await startServiceProgram(t, receivers.script('webhooks_server.py', String(port)), { port })
      return port
    },
    async ({ url, run }) =>
      JSON.parse(await run(programs.script('webhooks-sender.mjs', url, 'stripe', 'svix'))),
  )
  if (seen === undefined) return
  assert.deepEqual(
    new Set(seen.map(({ genuine, forged }: Record<string, number>) => `${genuine} ${forged}`)),
    new Set(['200 400']),
  )
})
