import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { reasonToSkip } from '../support/required-programs.ts'
import { run } from '../support/run.ts'
import { assertKnownFailures, copyCheckout, isolated, requireCheckout } from './suites.ts'

const checkout = requireCheckout('COMPAT_JAVA_NGROK', 'java-ngrok')
const skip = checkout.missing ?? reasonToSkip('ip', 'java', 'mvn', 'unshare')

test('java-ngrok passes its own tests, but for the known ones', { skip }, async () => {
  const suite = copyCheckout(checkout.path)
  const [, version = ''] = /^version "(.+)"$/m.exec(readFileSync(join(suite, 'build.gradle'), 'utf8')) ?? []
  writeFileSync(join(suite, 'src', 'main', 'resources', 'version.properties'), `version=${version}\n`)
  // Gradle is not packaged; Maven fetches what the tests need while the network can be reached.
  copyFileSync(join(import.meta.dirname, 'java-ngrok.pom.xml'), join(suite, 'pom.xml'))
  const classpath = join(suite, 'classpath.txt')
  const goals = ['test-compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classpath}`]
  execFileSync('mvn', ['--quiet', '--batch-mode', ...goals], { cwd: suite, stdio: 'ignore' })

  const [classes, tests] = ['classes', 'test-classes'].map((name) => join(suite, 'target', name))
  const command = [
    'java',
    ...['java.util', 'java.lang'].flatMap((name) => ['--add-opens', `java.base/${name}=ALL-UNNAMED`]),
    '--class-path',
    [classes, tests, readFileSync(classpath, 'utf8')].join(delimiter),
    'org.junit.platform.console.ConsoleLauncher',
    'execute',
    `--scan-class-path=${tests}`,
    `--reports-dir=${suite}`,
    '--details=none',
  ]
  const { PATH = '' } = process.env
  const { stdout, stderr } = await run(isolated(command), { PATH }, suite)
  assertKnownFailures(`java-ngrok ${version}`, join(suite, 'TEST-junit-jupiter.xml'), stdout + stderr)
})
