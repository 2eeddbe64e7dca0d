import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')

interface Job {
  readonly strategy?: { readonly matrix: { readonly suite: readonly string[] } }
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[]
}

const files = globSync('.github/workflows/*.yml', { cwd: root })
const jobs = files.flatMap((file) => {
  const workflow = parse(readFileSync(join(root, file), 'utf8')) as { jobs: Record<string, Job> }
  return Object.values(workflow.jobs)
})

test('workflows call npm scripts that exist, and nothing else', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const commands = jobs.flatMap(({ strategy, steps }) =>
    steps.flatMap(({ run }) =>
      run === undefined
        ? []
        : (strategy?.matrix.suite ?? ['']).map((suite) => run.replace(/\$\{\{ matrix\.suite \}\}/, suite)),
    ),
  )
  const unknown = commands.filter((command) => {
    const [, script] = /^npm (?:run )?([\w:]+)$/.exec(command) ?? []
    return script === undefined || !(script in scripts)
  })

  assert.deepEqual(unknown, [])
  for (const command of ['npm test', 'npm run test:long', 'npm run release'])
    assert.ok(commands.includes(command))
})

test('workflows use actions of one version, and no secrets', () => {
  const actions = jobs.flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []))

  assert.deepEqual(
    actions.filter((action) => !/^actions\/[\w-]+@v\d+$/.test(action)),
    [],
  )
  for (const file of files) assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /secrets\./)
})
