import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { openChannel } from './channel.ts'
import { installExecutable, PLATFORM } from './executable.ts'

const program = (version: string) => `#!/bin/sh\necho adit version ${version}\n`

/** An installed executable of version 1.2.0, and a channel whose manifest offers `content` as version 1.3.0. */
function createInstallation(content: string, options: { gzip?: boolean } = {}) {
  const dir = createTempDir()
  for (const name of ['bin', 'releases', 'releases/stable']) mkdirSync(join(dir, name))
  const installed = join(dir, 'bin', 'adit')
  writeFileSync(installed, program('1.2.0'))
  chmodSync(installed, 0o755)
  const file = options.gzip ? 'adit-1.3.0.gz' : 'adit-1.3.0'
  const bytes = options.gzip ? gzipSync(content) : Buffer.from(content)
  writeFileSync(join(dir, 'releases', 'stable', file), bytes)
  const published = { file, sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
  const install = (executables = { [PLATFORM]: published }) => {
    const manifest = { version: '1.3.0', archive: published, executables }
    return installExecutable(installed, openChannel(join(dir, 'releases'), 'stable'), manifest)
  }
  return { bin: join(dir, 'bin'), installed, published, install }
}

for (const gzip of [false, true])
  test(`a new version${gzip ? ', compressed,' : ''} replaces the executable and leaves the previous one beside it`, async () => {
    const { bin, installed, install } = createInstallation(program('1.3.0'), { gzip })

    await install()

    assert.equal(readFileSync(installed, 'utf8'), program('1.3.0'))
    assert.equal(readFileSync(`${installed}.previous`, 'utf8'), program('1.2.0'))
    assert.deepEqual(readdirSync(bin).sort(), ['adit', 'adit.previous'])
  })

for (const [what, content, message] of [
  ['does not start', 'no program', /does not start on this system/],
  ['exits with an error', '#!/bin/sh\nexit 1\n', /does not start on this system/],
  ['reports another version', program('1.3.1'), /reports "adit version 1\.3\.1", not version 1\.3\.0/],
] as const)
  test(`an executable that ${what} changes nothing`, async () => {
    const { bin, installed, install } = createInstallation(content)

    await assert.rejects(install(), message)

    assert.equal(readFileSync(installed, 'utf8'), program('1.2.0'))
    assert.deepEqual(readdirSync(bin), ['adit'])
  })

test('an executable that differs from its manifest is never started', async () => {
  const mark = join(createTempDir(), 'started')
  const { bin, published, install } = createInstallation(`#!/bin/sh\ntouch ${mark}\n`)

  await assert.rejects(
    install({ [PLATFORM]: { ...published, sha256: 'a'.repeat(64) } }),
    /does not match its manifest/,
  )
  await assert.rejects(install({ [PLATFORM]: { ...published, size: published.size - 1 } }), /larger/)

  assert.deepEqual(readdirSync(join(mark, '..')), [])
  assert.deepEqual(readdirSync(bin), ['adit'])
  rmSync(join(mark, '..'), { recursive: true })
})

test('a channel without an executable for this platform says so', async () => {
  const { published, install } = createInstallation(program('1.3.0'))

  await assert.rejects(
    install({ 'plan9-mips': published }),
    new RegExp(`1\\.3\\.0 has no executable for ${PLATFORM}`),
  )
})
