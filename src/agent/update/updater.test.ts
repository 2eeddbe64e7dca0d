import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentAgentLog } from '../log/log.ts'
import { isNewer, isSameMajor } from './release.ts'
import { UpdateRejected, Updater } from './updater.ts'

const keys = generateKeyPairSync('ed25519')
const PUBLIC = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()

function createInstallation() {
  const dir = createTempDir()
  const root = join(dir, 'adit')
  mkdirSync(root)
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({ version: '1.2.0', dependencies: { yaml: '2.0.0' } }),
  )
  return { dir, root }
}

function publish(
  dir: string,
  version: string,
  options: {
    dependencies?: object
    engines?: object
    tamper?: 'manifest' | 'archive'
    /** What `cli.js` is; empty for an archive without it. */
    program?: string
  } = {},
) {
  const channel = join(dir, 'releases', 'stable')
  const content = join(dir, 'build', 'package')
  mkdirSync(channel, { recursive: true })
  const { program = `console.log('adit version ${version}')` } = options
  mkdirSync(join(content, 'dist', 'lib'), { recursive: true })
  writeFileSync(join(content, 'dist', 'lib', program === '' ? 'index.js' : 'cli.js'), program)
  const dependencies = options.dependencies ?? { yaml: '2.0.0' }
  writeFileSync(
    join(content, 'package.json'),
    JSON.stringify({ version, dependencies, engines: options.engines }),
  )
  const file = `adit-server-${version}.tgz`
  execFileSync('tar', ['-czf', join(channel, file), '-C', join(dir, 'build'), 'package'])
  const archive = readFileSync(join(channel, file))
  const sha256 = createHash('sha256').update(archive).digest('hex')
  const manifest = JSON.stringify({ name: 'adit', version, archive: { file, sha256, size: archive.length } })
  writeFileSync(
    join(channel, 'manifest.json.sig'),
    sign(null, Buffer.from(manifest), keys.privateKey).toString('base64'),
  )
  writeFileSync(
    join(channel, 'manifest.json'),
    options.tamper === 'manifest' ? manifest.replace(version, '1.9.9') : manifest,
  )
  if (options.tamper === 'archive') {
    archive[archive.length - 1]! ^= 1
    writeFileSync(join(channel, file), archive)
  }
  return join(dir, 'releases')
}

function createUpdater(root: string, settings: { url?: string; check?: boolean; key?: string } = {}) {
  return new Updater({
    settings: {
      check: settings.check ?? true,
      channel: 'stable',
      url: settings.url,
      key: settings.key ?? PUBLIC,
    },
    version: '1.2.0',
    root,
    log: silentAgentLog,
  })
}

const rejectedWith = (message: RegExp) => (error: unknown) =>
  error instanceof UpdateRejected && message.test(error.message)

test('a signed newer version is installed beside the running one', async () => {
  const { dir, root } = createInstallation()
  const update = createUpdater(root, { url: publish(dir, '1.3.0') })

  const { version, done } = await update.begin()
  await done

  assert.equal(version, '1.3.0')
  assert.ok(existsSync(join(root, 'versions', 'current', 'dist', 'lib', 'cli.js')))
  assert.equal(readFileSync(join(root, 'versions', 'base'), 'utf8'), '1.2.0\n')
  await assert.rejects(update.begin(), rejectedWith(/not restarted yet/))
})

test('an update over HTTP is installed the same way', async (t) => {
  const { dir, root } = createInstallation()
  const releases = publish(dir, '1.2.1')
  const server = createServer((request, response) => {
    const path = join(releases, request.url ?? '')
    if (existsSync(path)) response.end(readFileSync(path))
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }

  const { done } = await createUpdater(root, { url: `http://127.0.0.1:${port}/` }).begin()
  await done

  assert.equal(readlinkSync(join(root, 'versions', 'current')), '1.2.1')
})

test('two updates cannot run at once', async () => {
  const { dir, root } = createInstallation()
  const update = createUpdater(root, { url: publish(dir, '1.3.0') })

  const first = update.begin()
  await assert.rejects(update.begin(), rejectedWith(/already updating/))
  await (await first).done
})

test('disabled checks, a missing channel and no newer version are reported as reasons', async () => {
  const { dir, root } = createInstallation()

  await assert.rejects(createUpdater(root, { check: false }).begin(), rejectedWith(/checks are disabled/))
  await assert.rejects(createUpdater(root).begin(), rejectedWith(/no update channel/))
  await assert.rejects(
    createUpdater(root, { url: publish(dir, '1.2.0') }).begin(),
    rejectedWith(/no update is available/),
  )
})

test('a new major version is never installed', async () => {
  const { dir, root } = createInstallation()

  await assert.rejects(
    createUpdater(root, { url: publish(dir, '2.0.0') }).begin(),
    rejectedWith(/no update is available/),
  )
})

test('a manifest that was modified, or signed with another key, is rejected', async () => {
  const { dir, root } = createInstallation()
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()

  await assert.rejects(
    createUpdater(root, { url: publish(dir, '1.3.0', { tamper: 'manifest' }) }).begin(),
    rejectedWith(/signature/),
  )
  await assert.rejects(
    createUpdater(root, { url: publish(dir, '1.3.0'), key: other }).begin(),
    rejectedWith(/signature/),
  )
})

test('a modified archive leaves nothing behind, and the update can be retried', async () => {
  const { dir, root } = createInstallation()
  const update = createUpdater(root, { url: publish(dir, '1.3.0', { tamper: 'archive' }) })

  const { done } = await update.begin()
  await assert.rejects(done, rejectedWith(/does not match its manifest/))

  assert.ok(!existsSync(join(root, 'versions', 'current')))
  publish(dir, '1.3.0')
  await (await update.begin()).done
})

test('a version that needs other packages is rejected', async () => {
  const { dir, root } = createInstallation()

  const { done } = await createUpdater(root, {
    url: publish(dir, '1.3.0', { dependencies: { yaml: '3.0.0' } }),
  }).begin()

  await assert.rejects(done, rejectedWith(/needs yaml 3\.0\.0/))
})

test('a version that needs a newer Node is rejected', async () => {
  const { dir, root } = createInstallation()

  const { done } = await createUpdater(root, {
    url: publish(dir, '1.3.0', { engines: { node: '>=999.1.0' } }),
  }).begin()

  await assert.rejects(done, rejectedWith(/needs Node 999\.1\.0 or newer/))
})

for (const { what, program, reason } of [
  { what: 'has no built program', program: '', reason: /holds no built program \(dist\/lib\/cli\.js\)/ },
  { what: 'does not start', program: 'process.exit(3)', reason: /1\.3\.0 does not start on this system/ },
  {
    what: 'is another version',
    program: 'console.log("adit version 1.2.9")',
    reason: /reports "adit version 1\.2\.9"/,
  },
])
  test(`an archive that ${what} is rejected, and the running version stays`, async () => {
    const { dir, root } = createInstallation()

    const { done } = await createUpdater(root, { url: publish(dir, '1.3.0', { program }) }).begin()

    await assert.rejects(done, rejectedWith(reason))
    assert.ok(!existsSync(join(root, 'versions', 'current')))
  })

test('versions are compared by their numbers', () => {
  assert.ok(isNewer('1.10.0', '1.9.9'))
  assert.ok(isNewer('1.0.0', '1.0.0-beta.1'))
  assert.ok(!isNewer('1.0.0', '1.0.0'))
  assert.ok(!isNewer('nonsense', '1.0.0'))
  assert.ok(isSameMajor('1.0.0', '1.9.0'))
  assert.ok(!isSameMajor('1.0.0', '2.0.0'))
})
