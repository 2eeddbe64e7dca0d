import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, globSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createClientPlan } from '../support/client-plan.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { assertWalk } from './suites.ts'

const MODULE = 'github.com/ngrok/ngrok-api-go'

/** What Adit lacks: keys of the hosted AI gateway. */
const ABSENT = /^ai_gateway/

/** Downloads the client and answers its packages with services that Adit has; undefined if the registry lacks it. */
function downloadClient(major: number, version: string): string[] | undefined {
  const name = `${MODULE}/v${major}@${version}`
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', name], { encoding: 'utf8' })
  if (status !== 0) return undefined
  const { Dir: dir } = JSON.parse(stdout)
  const packages = globSync('**/client.go', { cwd: dir })
    .map((file) => dirname(file))
    .filter((path) => path !== '.' && !path.startsWith('internal') && !ABSENT.test(path))
  return packages.sort()
}

/** Builds the walk through these packages and answers the program. */
function buildWalk(dir: string, major: number, version: string, packages: readonly string[]): string {
  const root = `${MODULE}/v${major}`
  const imports = packages.map((path, index) => `\ts${index} "${root}/${path}"\n`).join('')
  const services = packages.map((path, index) => `\t\t"${path}": s${index}.NewClient(config),\n`).join('')
  writeFileSync(
    join(dir, 'services.go'),
    `package main

import (
	ngrok "${root}"
${imports})

func newServices(key, url string) map[string]any {
	config := ngrok.NewClientConfig(key, ngrok.WithBaseURL(url))
	return map[string]any{
${services}	}
}
`,
  )
  writeFileSync(join(dir, 'go.mod'), `module walk\n\ngo 1.25\n\nrequire ${root} ${version}\n`)
  copyFileSync(join(import.meta.dirname, 'walk_official.go'), join(dir, 'main.go'))
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  execFileSync('go', ['build', '-o', 'walk', '.'], { cwd: dir, env, stdio: 'pipe' })
  return join(dir, 'walk')
}

for (const [major, version] of [
  [5, 'v5.4.1'],
  [6, 'v6.1.0'],
  [7, 'v7.8.0'],
  [8, 'v8.0.0'],
  [9, 'v9.0.0'],
] as const)
  test(`the official Go client ${version} calls every method and decodes the answers`, {
    skip: reasonToSkip('go'),
  }, async (t) => {
    const dir = createTempDir()
    const packages = downloadClient(major, version)
    if (packages === undefined) return t.skip(`the registry that GOPROXY names lacks ${version}`)
    const program = buildWalk(dir, major, version, packages)
    await assertWalk(t, [program], await createClientPlan(t, packages))
  })
