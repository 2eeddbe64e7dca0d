import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reasonToSkip } from '../support/required-programs.ts'
import { run } from '../support/run.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { assertKnownFailures, copyCheckout, isolated, requireCheckout } from './suites.ts'

const checkout = requireCheckout('COMPAT_NPM_NGROK', 'npm ngrok, after npm install --ignore-scripts')
const skip = checkout.missing ?? reasonToSkip('ip', 'unshare')

test('npm ngrok passes its own tests, but for the known ones', { skip }, async () => {
  const suite = copyCheckout(checkout.path)
  const link = join(createTempDir(), 'ngrok')
  symlinkSync(join(import.meta.dirname, '..', '..', 'bin', 'adit'), link)
  // A file, not the link itself: a test installs over it.
  mkdirSync(join(suite, 'bin'), { recursive: true })
  writeFileSync(join(suite, 'bin', 'ngrok'), `#!/bin/sh\nexec ${link} "$@"\n`, { mode: 0o755 })
  symlinkSync(join(checkout.path, 'node_modules'), join(suite, 'node_modules'))
  const { version } = JSON.parse(readFileSync(join(suite, 'package.json'), 'utf8'))

  const report = join(suite, 'report.xml')
  const reporter = join(import.meta.dirname, 'junit_reporter.cjs')
  const mocha = join(suite, 'node_modules', 'mocha', 'bin', 'mocha.js')
  const command = [process.execPath, mocha, '--exit', '--reporter', reporter]
  const { PATH = '' } = process.env
  const { stdout, stderr } = await run(isolated(command), { PATH, JUNIT_REPORT: report }, suite)
  assertKnownFailures(`npm ngrok ${version}`, report, stdout + stderr)
})
