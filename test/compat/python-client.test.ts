import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClientPlan } from '../support/client-plan.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { assertWalk, createVenv } from './suites.ts'

const walk = join(import.meta.dirname, 'walk_official.py')

test('the official Python client calls every method and decodes the answers', {
  skip: reasonToSkip('python3'),
}, async (t) => {
  const python = createVenv(createTempDir(), ['ngrok-api==0.19.0'])
  const services = JSON.parse(execFileSync(python, [walk, 'services'], { encoding: 'utf8' }))
  await assertWalk(t, [python, walk], await createClientPlan(t, services))
})
