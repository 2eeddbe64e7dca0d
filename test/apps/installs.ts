import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { run } from '../support/run.ts'
import { ARTEFACTS } from '../web/browser.ts'

/** What registries have sent is used by later runs too. Not below `node_modules`, where development servers watch no files. */
const CACHE = join(ARTEFACTS, 'apps')

type Command = readonly [string, ...string[]]

/**
 * Installs into a directory of the cache by these commands, each run there, unless that was done before. Skips the test and
 * returns undefined when a command fails, such as for a version that the registry lacks.
 */
async function installOnce(
  t: TestContext,
  packages: readonly string[],
  commands: (dir: string) => readonly Command[],
  files: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 16)
  const dir = join(CACHE, key)
  const stamp = join(dir, '.installed')
  if (existsSync(stamp)) return dir
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content)
  for (const command of commands(dir)) {
    const env = { ...process.env, GOFLAGS: '-mod=mod' } as Record<string, string>
    const { code, stdout, stderr } = await run(command, env, dir)
    if (code !== 0) {
      t.skip(`cannot install ${packages.join(' ')}: ${`${stdout}${stderr}`.trim().slice(-500)}`)
      return undefined
    }
  }
  writeFileSync(stamp, '')
  return dir
}

/** Runs a script of `programs` on the packages that it imports. */
export type ScriptCommand = (script: string, ...args: string[]) => Command

/** Installs packages of npm. */
export async function installNpm(
  t: TestContext,
  ...packages: string[]
): Promise<{ dir: string; script: ScriptCommand } | undefined> {
  const command = ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages] as const
  const manifest = JSON.stringify({ private: true, type: 'module' })
  const dir = await installOnce(t, packages, () => [command], { 'package.json': manifest })
  if (dir === undefined) return undefined
  return {
    dir,
    // Modules are resolved from the directory of the script.
    script: (name, ...args) => {
      copyFileSync(join(import.meta.dirname, 'programs', name), join(dir, name))
      return [process.execPath, join(dir, name), ...args]
    },
  }
}

/** Installs packages of PyPI into an environment of their own; `bin` is where their commands are. */
export async function installPython(
  t: TestContext,
  ...packages: string[]
): Promise<{ bin: string; script: ScriptCommand } | undefined> {
  const dir = await installOnce(t, packages, (target) => [
    ['python3', '-m', 'venv', target],
    [join(target, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', ...packages],
  ])
  if (dir === undefined) return undefined
  const bin = join(dir, 'bin')
  const script = (name: string, ...args: string[]): Command => [
    join(bin, 'python'),
    join(import.meta.dirname, 'programs', name),
    ...args,
  ]
  return { bin, script }
}

/** Installs packages of PyPI that need Python 2; returns the environment in which their commands, in `bin`, run. */
export async function installPython2(
  t: TestContext,
  ...packages: string[]
): Promise<{ bin: string; env: Record<string, string> } | undefined> {
  const dir = await installOnce(t, packages, (target) => [
    [
      ...([
        'env',
        `PYTHONUSERBASE=${target}`,
        'python2.7',
        '-m',
        'pip',
        'install',
        '--quiet',
        '--user',
      ] as const),
      ...packages,
    ],
  ])
  return dir === undefined ? undefined : { bin: join(dir, 'bin'), env: { PYTHONUSERBASE: dir } }
}

/** Builds a program of a Go module and returns its path. */
export async function installGo(
  t: TestContext,
  module: string,
  version: string,
  program: string,
): Promise<string | undefined> {
  const files = { 'go.mod': `module app\n\ngo 1.18\n\nrequire ${module} ${version}\n` }
  const build = ['go', 'build', '-o', 'program', `${module}/${program}`] as const
  const dir = await installOnce(t, [module, version, program], () => [build], files)
  return dir && join(dir, 'program')
}

/** Unpacks a distribution from the Maven repositories of this machine, if it has this digest, and returns its directory. */
export async function installMaven(
  t: TestContext,
  group: string,
  name: string,
  version: string,
  sha256: string,
): Promise<string | undefined> {
  const archive = `${name}-${version}.tar.gz`
  const artifact = `${group}:${name}:${version}:tar.gz`
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
  return installOnce(
    t,
    [artifact, sha256],
    (dir) => [
      ['mvn', '--quiet', '--batch-mode', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${dir}`],
      ['sha256sum', '--check', '--quiet', 'sums'],
      ['tar', '-xzf', archive, '--strip-components=1'],
      ['rm', archive],
    ],
    { sums: `${sha256}  ${archive}\n` },
  )
}
