import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { signRelease } from '../scripts/release/signature.ts'
import { readManifest } from '../src/agent/update/manifest.ts'
import { createTestRelease, RELEASE_PLATFORM, RELEASE_PROGRAM } from './support/release.ts'
import { createTempDir } from './support/temp-dir.ts'

const script = join(import.meta.dirname, '..', 'scripts', 'install.sh')

/** A signed release whose executable is a shell script, an empty prefix, and a function that runs the installer. */
async function createRelease() {
  const home = createTempDir()
  const { release, key, publicKey } = await createTestRelease()
  const prefix = join(home, 'prefix')
  const install = (...args: string[]) =>
    spawnSync('sh', [script, '--prefix', prefix, ...args], {
      encoding: 'utf8',
      env: { ...process.env, HOME: home },
    })
  return {
    home,
    release,
    prefix,
    key,
    publicKey,
    install,
    program: join(prefix, 'bin', 'adit'),
  }
}

test('a release directory is installed and removed again', async () => {
  const { release, prefix, key, install, program } = await createRelease()

  const installed = install('--key', key, release)
  const version = execFileSync(program, ['version'], { encoding: 'utf8' })
  const removed = install('--uninstall')
  const again = install('--uninstall')

  assert.equal(installed.status, 0, installed.stderr)
  assert.match(
    installed.stdout,
    /^Installed .*\/prefix\/bin\/adit \(adit version 1\.2\.3\)\.\n.* is not on the PATH\. Add it: export PATH=/,
  )
  assert.equal(version, 'adit version 1.2.3\n')
  assert.equal(removed.status, 0, removed.stderr)
  assert.deepEqual(readdirSync(join(prefix, 'bin')), [])
  assert.deepEqual([again.status, again.stderr], [1, `ERROR:  ${program} is not installed\n`])
})

test('a tar archive of a release is installed too', async () => {
  const { home, release, key, install, program } = await createRelease()
  const archive = join(home, 'release.tar.gz')
  execFileSync('tar', ['-czf', archive, '-C', join(release, '..'), release.split('/').at(-1)!])

  const { status, stderr } = install(`--key=${key}`, archive)

  assert.equal(status, 0, stderr)
  assert.equal(readFileSync(program, 'utf8'), RELEASE_PROGRAM)
})

test('a release that was changed, or that another key signed, is not installed', async () => {
  const { release, key, install, program } = await createRelease()
  const other = await createRelease()
  const executable = join(release, `adit-1.2.3-${RELEASE_PLATFORM}.gz`)

  const unnamedKey = install(release)
  const wrongKey = install('--key', other.key, release)
  writeFileSync(executable, gzipSync('#!/bin/sh\necho changed\n'))
  const changedFile = install('--key', key, release)
  const unsigned = install('--no-signature', release)
  const sums = join(release, 'SHA256SUMS')
  const { stdout } = spawnSync('sha256sum', [executable], { encoding: 'utf8' })
  writeFileSync(
    sums,
    readFileSync(sums, 'utf8').replace(/^\w+(?= {2}adit-1\.2\.3-linux)/m, stdout.slice(0, 64)),
  )
  const changedSums = install('--key', key, release)

  assert.match(unnamedKey.stderr, /^ERROR: {2}name the public key of the release with --key FILE/)
  assert.match(wrongKey.stderr, /^ERROR: {2}the signature of the release does not match the key/)
  assert.match(
    changedFile.stderr,
    /^ERROR: {2}the checksum of adit-1\.2\.3-linux-\w+\.gz is wrong; nothing was installed\n$/,
  )
  assert.match(unsigned.stderr, /checksum of .* is wrong/)
  assert.match(changedSums.stderr, /signature of the release does not match/)
  for (const { status } of [unnamedKey, wrongKey, changedFile, unsigned, changedSums]) assert.equal(status, 1)
  assert.ok(!existsSync(program))
})

test('mistakes name the cause', async () => {
  const { home, install } = await createRelease()

  assert.match(install().stderr, /^Usage: sh install\.sh/)
  assert.match(install('--no-signature', join(home, 'nothing')).stderr, /nothing does not exist/)
  assert.match(install('--no-signature', home).stderr, /holds no release: there is no SHA256SUMS/)
  assert.match(install('--no-signature', script).stderr, /install\.sh is not a tar archive/)
  assert.match(install('--frobnicate').stderr, /there is no option --frobnicate/)
  assert.match(install('--key').stderr, /--key needs a value/)
})

test('the directory of a release is an update channel', async () => {
  const { release, publicKey } = await createRelease()
  const read = (file: string) => readFileSync(join(release, file))

  const manifest = readManifest(read('manifest.json'), String(read('manifest.json.sig')), publicKey)

  assert.equal(manifest.version, '1.2.3')
  assert.equal(manifest.archive.file, 'adit-server-1.2.3.tgz')
  assert.deepEqual(Object.keys(manifest.executables).sort(), [RELEASE_PLATFORM, 'win32-x64'])
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release })
})

test('a program that does not start is not installed, and a missing library is named with its package', async () => {
  const failures = {
    'adit: error while loading shared libraries: libatomic.so.1: cannot open shared object file':
      /the program needs libatomic \(Debian, Ubuntu: apt-get install -y libatomic1;.*nothing was installed/,
    'adit: cannot execute binary file': /does not start on this system: adit: cannot execute binary file;/,
  }
  for (const [problem, sentence] of Object.entries(failures)) {
    const { release, install, program } = await createRelease()
    const executable = gzipSync(`#!/bin/sh\necho '${problem}' >&2\nexit 127\n`)
    writeFileSync(join(release, `adit-1.2.3-${RELEASE_PLATFORM}.gz`), executable)
    await signRelease(release, '1.2.3', undefined)

    const { status, stderr } = install('--no-signature', release)

    assert.equal(status, 1)
    assert.match(stderr, sentence)
    assert.ok(!existsSync(program))
  }
})
