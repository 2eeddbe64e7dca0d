// Clients that generators of other languages make of the OpenAPI document, by the commands of docs/clients.md.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { shareApi } from '../support/api.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { type StoredKind, samples } from '../support/samples.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { assertWalk, createVenv } from './suites.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')
const { fresh } = await shareApi()

/** The shell commands of a section of docs/clients.md. */
function commandsOf(language: string): string {
  const [, section = ''] = readFileSync(join(docs, 'clients.md'), 'utf8').split(`\n## ${language}\n`)
  return /```sh\n([\s\S]*?)```/.exec(section)![1]!
}

/** Runs the commands of a section in a directory with the document. */
function generate(dir: string, language: string, path = ''): void {
  copyFileSync(join(docs, 'openapi.json'), join(dir, 'openapi.json'))
  const env = { ...process.env, PATH: `${path}${process.env.PATH}`, GOFLAGS: '-mod=mod' }
  execFileSync('sh', ['-e', '-c', commandsOf(language)], { cwd: dir, env, stdio: 'pipe' })
}

/** Every resource with the bodies to create and change one. */
async function createPlan() {
  const { url, account, call } = await fresh()
  const services = []
  for (const [kind, sample] of Object.entries(samples) as [StoredKind, (typeof samples)[StoredKind]][])
    services.push({
      tag: kind,
      parents: (await sample.parents?.(call)) ?? {},
      create: await sample.create(call),
      update: (await sample.update?.(call)) ?? {},
    })
  return { base_url: url, api_key: account.apiKey.reveal(), services }
}

test('a Go client by oapi-codegen compiles, manages every resource and decodes the answers', {
  skip: reasonToSkip('go'),
}, async (t) => {
  const dir = createTempDir()
  generate(dir, 'Go')
  mkdirSync(join(dir, 'walk'))
  copyFileSync(join(import.meta.dirname, 'walk_generated.go'), join(dir, 'walk', 'main.go'))
  execFileSync('go', ['build', '-o', 'walk/walk', './walk'], { cwd: dir, stdio: 'pipe' })
  await assertWalk(t, [join(dir, 'walk', 'walk')], await createPlan())
})

test('a Python client by openapi-python-client manages every resource and decodes the answers', {
  skip: reasonToSkip('python3'),
}, async (t) => {
  const dir = createTempDir()
  const python = createVenv(dir, [])
  generate(dir, 'Python', `${join(python, '..')}:`)
  copyFileSync(join(import.meta.dirname, 'walk_generated.py'), join(dir, 'walk.py'))
  await assertWalk(t, [python, join(dir, 'walk.py')], await createPlan())
})
