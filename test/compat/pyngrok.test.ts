import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reasonToSkip } from '../support/required-programs.ts'
import { run } from '../support/run.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { assertKnownFailures, createVenv, isolated } from './suites.ts'

const skip = reasonToSkip('ip', 'python3', 'unshare')

for (const version of ['8.2.0', '9.1.0'])
  test(`pyngrok ${version} passes its own tests, but for the known ones`, { skip }, async () => {
    const dir = createTempDir()
    const python = createVenv(dir, ['psutil', 'pytest', 'pyyaml'])
    const quiet = { cwd: dir, stdio: 'ignore' } as const
    const download = ['download', '--no-deps', '--no-binary', ':all:', `pyngrok==${version}`]
    execFileSync(python, ['-m', 'pip', ...download], quiet)
    const suite = join(dir, `pyngrok-${version}`)
    execFileSync('tar', ['-xzf', `${suite}.tar.gz`], quiet)
    // The archive lacks the script that reserves names; its tests need only the name of a function.
    mkdirSync(join(suite, 'scripts'))
    copyFileSync(
      join(import.meta.dirname, 'test_names.py'),
      join(suite, 'scripts', 'create_test_resources.py'),
    )

    const report = join(dir, 'report.xml')
    const command = [
      python,
      '-m',
      'pytest',
      '--rootdir',
      suite,
      `--junit-xml=${report}`,
      join(suite, 'tests'),
    ]
    const { PATH = '' } = process.env
    const { stdout } = await run(isolated(command), { PATH, PYTHONPATH: suite })
    assertKnownFailures(`pyngrok ${version}`, report, stdout)
  })
