import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startPlatform } from '../../../test/support/platform.ts'
import { createTestRelease, RELEASE_PLATFORM } from '../../../test/support/release.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { VERSION } from '../../base/version.ts'
import { addRelease, packExecutable, readAddedRelease, removeRelease } from './downloads.ts'

/** A program that writes its arguments to a file beside it, and what it reads from standard input. */
const RECORDING_PROGRAM = `#!/bin/sh
[ "$1" = version ] && { echo 'adit version 1.2.3'; exit 0; }
{ echo "$@"; [ "$3" != - ] || cat; } >>"$0.calls"
`

test('a release is handed out under its names and under names without its version', async (t) => {
  const platform = await startPlatform(t)
  const { release, key } = await createTestRelease()
  const get = (path: string, headers = {}) => fetch(`${platform.credentials.api_url}${path}`, { headers })

  const before = await get('/install.sh')
  await addRelease(platform.dataDir, release, key)
  const deb = await get('/download/adit_1.2.3_amd64.deb')
  const index = await (await get('/download')).text()

  assert.equal(before.status, 404)
  assert.match(await before.text(), /adit server downloads add/)
  assert.equal(await deb.text(), 'the Debian package')
  assert.equal(await (await get('/download/adit-agent.tgz')).text(), 'the npm package of the agent')
  assert.equal(await (await get('/download/adit_amd64.deb')).text(), 'the Debian package')
  assert.match(index, /adit-server-1\.2\.3\.tgz<\/a> <code>[0-9a-f]{64}/)
  for (const name of ['manifest.json', 'manifest.json.sig'])
    assert.equal(
      await (await get(`/download/stable/${name}`)).text(),
      readFileSync(join(release, name), 'utf8'),
    )
  for (const path of ['%2e%2e%2fmaster.key', '..%2F..%2Fmaster.key', 'install.sh', 'beta/manifest.json', 'x'])
    assert.equal((await get(`/download/${path}`)).status, 404, path)
})

test('a download goes on where it was cut off, unless the file has changed', async (t) => {
  const platform = await startPlatform(t)
  const { release } = await createTestRelease()
  await addRelease(platform.dataDir, release, undefined)
  const url = `${platform.credentials.api_url}/download/adit_amd64.deb`
  const get = async (headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(url, { headers, method })
    return [response.status, response.headers.get('content-range'), await response.text()]
  }
  const etag = (await fetch(url)).headers.get('etag')!

  assert.deepEqual(await get({ range: 'bytes=4-9' }), [206, 'bytes 4-9/18', 'Debian'])
  assert.deepEqual(await get({ range: 'bytes=11-' }), [206, 'bytes 11-17/18', 'package'])
  assert.deepEqual(await get({ range: 'bytes=-7' }), [206, 'bytes 11-17/18', 'package'])
  assert.deepEqual(await get({ range: 'bytes=18-' }), [416, 'bytes */18', ''])
  for (const range of ['bytes=1-2,4-5', 'bytes=5-4', 'lines=1-2', 'bytes=-'])
    assert.deepEqual(await get({ range }), [200, null, 'the Debian package'], range)
  assert.equal((await get({ range: 'bytes=4-', 'if-range': etag }))[0], 206)
  assert.equal((await get({ range: 'bytes=4-', 'if-range': '"other"' }))[0], 200)
  assert.equal((await get({ 'if-none-match': etag }))[0], 304)
  const head = await fetch(url, { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '18'])
})

test('the script of a server installs the agent, and tells it the server, its updates and the authtoken', async (t) => {
  const platform = await startPlatform(t)
  const { release, key, publicKey } = await createTestRelease(RECORDING_PROGRAM)
  await addRelease(platform.dataDir, release, key)
  const { api_url, agent_addr } = platform.credentials
  const home = createTempDir()
  const install = (script: string) =>
    promisify(execFile)('sh', ['-c', script], {
      env: { PATH: process.env.PATH, HOME: home, ADIT_AUTHTOKEN: 'secret token' },
    })
  const program = join(home, 'prefix/bin/adit')

  const { stdout } = await install(
    `curl -fsS ${api_url}/install.sh | sh -s -- --prefix "$HOME/prefix"; cat "$HOME/prefix/bin/adit.calls"`,
  )

  const { x = '' } = publicKey.export({ format: 'jwk' })
  assert.match(stdout, /^Installed .*\/prefix\/bin\/adit \(adit version 1\.2\.3\)\./)
  assert.match(stdout, /Next: adit http 3000 gives/)
  assert.deepEqual(readFileSync(`${program}.calls`, 'utf8').split('\n').slice(0, 4), [
    `config add-connect-url ${agent_addr}`,
    `config add-update-url ${api_url}/download ${Buffer.from(x, 'base64url').toString('base64')}`,
    'config add-authtoken -',
    'secret token',
  ])
})

test('a script that was cut off does nothing, and a changed download is not installed', async (t) => {
  const platform = await startPlatform(t)
  const { release, unsign } = await createTestRelease()
  await unsign()
  const { directory } = await addRelease(platform.dataDir, release, undefined)
  const script = await (await fetch(`${platform.credentials.api_url}/install.sh`)).text()
  const home = createTempDir()
  const run = (text: string) =>
    promisify(execFile)('sh', ['-c', text, 'sh', '--prefix', join(home, 'prefix')], {
      env: { PATH: process.env.PATH, HOME: home },
    }).catch((error: { stderr: string }) => error)

  for (const part of [0.25, 0.5, 0.75, 0.999]) await run(script.slice(0, script.length * part))
  assert.deepEqual(await readdir(home), [])

  writeFileSync(join(directory, `adit-1.2.3-${RELEASE_PLATFORM}.gz`), 'changed')
  const { stderr } = await run(script)
  assert.match(stderr, /^ERROR: {2}the checksum of adit-1\.2\.3-.* is wrong; nothing was installed\n$/)
  assert.ok(!existsSync(join(home, 'prefix/bin/adit')))
})

test('the script says what a system lacks', async (t) => {
  const platform = await startPlatform(t)
  const { release } = await createTestRelease()
  await addRelease(platform.dataDir, release, undefined)
  const script = await (await fetch(`${platform.credentials.api_url}/install.sh`)).text()
  const tools = createTempDir()
  /** What the script says where one program is this shell script. */
  const failWith = async (name: string, text: string, prefix = createTempDir()) => {
    const directory = createTempDir()
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    const environment = { PATH: `${directory}:${process.env.PATH}`, HOME: createTempDir() }
    const run = promisify(execFile)('sh', ['-c', script, 'sh', '--prefix', prefix], { env: environment })
    return run.then(
      () => assert.fail('it has installed something'),
      ({ stderr }: { stderr: string }) => stderr,
    )
  }

  assert.match(
    await failWith('uname', '[ "$1" = -s ] && echo Plan9 || echo x86_64'),
    /no executable for Plan9/,
  )
  assert.match(await failWith('uname', '[ "$1" = -s ] && echo Linux || echo vax'), /no executable for vax/)
  assert.match(await failWith('curl', 'exit 22'), /holds no release, or cannot be reached/)
  writeFileSync(join(tools, 'file'), '')
  assert.match(await failWith('any', '', join(tools, 'file')), /file\/bin is not writable/)
  const commands = ['mkdir', 'mktemp', 'rm', 'id'].map(
    (name) => `ln -s "$(command -v ${name})" ${tools}/${name}`,
  )
  spawnSync('sh', ['-c', commands.join('\n')])
  const { stderr } = spawnSync('/bin/sh', ['-c', script, 'sh', '--prefix', createTempDir()], {
    env: { PATH: tools, HOME: createTempDir() },
    encoding: 'utf8',
  })
  assert.match(stderr, /curl or wget downloads the program, and neither was found/)
})

test('a release is added only as a whole, and as what its key has signed', async () => {
  const dataDir = createTempDir()
  const [first, second] = [await createTestRelease(), await createTestRelease()]
  await addRelease(dataDir, first.release, undefined)
  const added = await readAddedRelease(dataDir)

  await assert.rejects(addRelease(dataDir, createTempDir(), undefined), /holds no release/)
  await assert.rejects(addRelease(dataDir, second.release, first.key), /does not match the key/)
  writeFileSync(join(second.release, 'adit_1.2.3_amd64.deb'), 'changed')
  await assert.rejects(addRelease(dataDir, second.release, second.key), /checksum of adit_1\.2\.3_amd64\.deb/)
  await second.unsign()
  await assert.rejects(addRelease(dataDir, second.release, second.key), /not signed: .*SHA256SUMS\.sig/)

  assert.deepEqual(await readAddedRelease(dataDir), added)
  assert.ok(await removeRelease(dataDir))
  assert.ok(!(await removeRelease(dataDir)))
  assert.deepEqual(await readdir(join(dataDir, 'downloads')), [])
})

test('an executable is handed out by itself, packed once', async () => {
  const directory = join(createTempDir(), 'downloads')
  const program = join(createTempDir(), 'adit')
  writeFileSync(program, 'a program')

  const release = await packExecutable(program, directory)
  const again = await packExecutable(program, directory)
  writeFileSync(program, 'the program of an upgrade')
  const upgraded = await packExecutable(program, directory)

  assert.deepEqual([...release.files.keys()].slice(0, 1), [`adit-${VERSION}-${RELEASE_PLATFORM}.gz`])
  assert.equal(release.key, undefined)
  assert.equal(again.directory, release.directory)
  assert.notEqual(upgraded.directory, release.directory)
  assert.equal((await readdir(directory)).length, 1)
})

test('the domain itself hands out agents and leads everywhere else to the dashboard; --downloads false switches it off', async (t) => {
  const { release } = await createTestRelease()
  const platform = await startPlatform(t)
  await addRelease(platform.dataDir, release, undefined)
  const off = await startPlatform(t, ['--downloads', 'false'])
  const url = platform.credentials.https_url

  const script = await platform.fetch(`${url}/install.sh`)
  const file = await platform.fetch(`${url}/download/adit_amd64.deb`)
  const root = await platform.fetch(`${url}/`, { redirect: 'manual' })
  const call = await platform.fetch(`${url}/ip_policies`, { method: 'POST' })

  assert.match(await script.text(), /^#!\/bin\/sh/)
  assert.equal(await file.text(), 'the Debian package')
  assert.match(`${root.status} ${root.headers.get('location')}`, /^302 https:\/\/dashboard\./)
  assert.equal(call.status, 405)
  assert.equal((await off.fetch(`${off.credentials.https_url}/install.sh`)).status, 404)
  assert.equal((await fetch(`${off.credentials.api_url}/download`)).status, 404)
})
