import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { hashPages, withAdHocSignature } from '../../scripts/executables/ad-hoc-signature.ts'
import { fetchRuntime } from '../../scripts/executables/runtime.ts'
import { TestGateway } from '../../src/agent/testing/gateway.ts'
import { startHttpService } from '../../src/agent/testing/local-api.ts'
import { VERSION } from '../../src/base/version.ts'
import { StreamType } from '../../src/protocol/index.ts'
import { startSamlProcess } from '../login/saml-route.ts'
import { cleanEnv, gatewayFlags, runProgram, startProgram } from '../support/agent-process.ts'
import { eventually } from '../support/eventually.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const root = join(import.meta.dirname, '..', '..')
const directory = join(root, 'dist', 'executables')
const runtimes = join(directory, '.runtimes')
const built = join(directory, `adit-${VERSION}-linux-x64`)
const NEXT = VERSION.replace(/\d+$/, (patch) => String(Number(patch) + 1))
const MAX_ADDED_BYTES = 25e6

function build(): void {
  const script = join(root, 'scripts', 'build-executables.ts')
  execFileSync(process.execPath, [script, '--no-compress', 'linux-x64'], { stdio: 'inherit' })
}

before(build)

/** Copies the executable to an empty home directory, away from the checkout. */
function installExecutable() {
  const home = createTempDir()
  const launcher = join(home, 'adit')
  copyFileSync(built, launcher)
  chmodSync(launcher, 0o755)
  return { home, launcher, env: { ...cleanEnv(home), PATH: '' } }
}

test('an executable is its runtime and at most 25 MB', () => {
  const added = statSync(built).size - statSync(fetchRuntime('linux-x64', runtimes)).size

  assert.ok(added < MAX_ADDED_BYTES, `${added} bytes`)
})

test('another build gives the same executable, byte for byte (P60)', () => {
  const first = readFileSync(built)

  build()

  assert.ok(readFileSync(built).equals(first))
})

test('its commands need no files beside it', async (t) => {
  const { launcher, env } = installExecutable()

  const version = await runProgram(t, ['version'], { env, launcher })
  const credits = await runProgram(t, ['credits'], { env, launcher })
  const api = await runProgram(t, ['api', '--help'], { env, launcher })
  const unknown = await runProgram(t, ['htpp'], { env, launcher })

  assert.deepEqual(version, { code: 0, stdout: `adit version ${VERSION}\n`, stderr: '' })
  assert.match(credits.stdout, /fastify +\d[\s\S]+Permission is hereby granted/)
  assert.match(api.stdout, /reserved-domains/)
  assert.match(unknown.stderr, /^ERROR: .*htpp/)
})

for (const workers of ['1', '2'])
  test(`with --workers ${workers} it serves the API, the dashboard, a tunnel and the inspector`, async (t) => {
    const { home, launcher, env } = installExecutable()
    const server = await startServerProcess(t, join(home, 'data'), ['--workers', workers], {
      program: launcher,
    })
    const port = new URL(server.credentials.http_url).port
    const addr = await startHttpService(t, (_request, response) => response.end('hello'))
    const host = 'one.adit.localhost'
    const agent = startProgram(
      t,
      ['http', addr, `--url=http://${host}`, '--web-addr=127.0.0.1:0', '--log=stdout'],
      {
        env,
        launcher,
      },
    )
    await agent.until(({ stdout }) => /started tunnel/.test(stdout))
    const inspector = /starting web service.* addr=(\S+)/.exec(agent.stdout)?.[1]

    const curl = ['-sS', '-H', `Host: ${host}:${port}`, `http://127.0.0.1:${port}`]
    assert.equal((await promisify(execFile)('curl', curl)).stdout, 'hello')
    for (const place of [`${server.url}/dashboard/`, `http://${inspector}/inspect/http`]) {
      const html = await (await fetch(place)).text()
      const script = /<script[^>]+src="([^"]+\.js)"/.exec(html)?.[1]
      const asset = await fetch(new URL(script ?? 'missing', place))
      assert.equal(asset.status, 200, `${place}: ${html}`)
      assert.match(asset.headers.get('content-type') ?? '', /javascript/)
    }
    agent.child.kill('SIGTERM')
    assert.equal(await agent.waitForExit(), 0)
    await server.stop()
  })

test('its worker threads load their modules from it', async (t) => {
  const { launcher } = installExecutable()
  const { attempt } = await startSamlProcess(t, [], { program: launcher })

  const page = await attempt()

  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /ada@example\.com/)
})

/** A channel that offers the same program as the next version. */
async function publishNext() {
  const releases = createTempDir()
  mkdirSync(join(releases, 'stable'))
  const manifestOf = (version: string) => Buffer.from(`{"version":"${version}","license"`)
  const program = readFileSync(built)
  manifestOf(NEXT).copy(program, program.indexOf(manifestOf(VERSION)))
  const content = gzipSync(program, { level: 1 })
  writeFileSync(join(releases, 'stable', 'adit.gz'), content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const file = { file: 'adit.gz', sha256, size: content.length }
  const manifest = Buffer.from(
    JSON.stringify({ name: 'adit', version: NEXT, archive: file, executables: { 'linux-x64': file } }),
  )
  const keys = generateKeyPairSync('ed25519')
  writeFileSync(join(releases, 'stable', 'manifest.json'), manifest)
  writeFileSync(
    join(releases, 'stable', 'manifest.json.sig'),
    sign(null, manifest, keys.privateKey).toString('base64'),
  )
  return [`--update-url=${releases}`, `--update-key=${keys.publicKey.export({ format: 'jwk' }).x}`]
}

test('an agent replaces its own executable and restarts under the same process id and names', async (t) => {
  const gateway = await TestGateway.start(t)
  const { home, launcher, env } = installExecutable()
  const updates = await publishNext()
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const flags = ['--web-addr=false', '--log=stdout', ...updates, ...gatewayFlags(gateway, home)]
  const program = startProgram(t, ['http', addr, ...flags], { env, launcher })
  await program.until(({ stdout }) => /started tunnel/.test(stdout))
  const [url] = [...gateway.tunnels.values()].map((bound) => bound.url)

  await gateway.session!.command(StreamType.Update, { Version: '', PermitMajorVersion: false })
  await program.until(({ stdout }) => /update installed|update failed/.test(stdout))
  assert.match(program.stdout, /update installed/)
  await gateway.session!.command(StreamType.Restart, {})
  await eventually(() => gateway.auths.length === 2 && gateway.tunnels.size === 1)

  const versions = gateway.auths.map((auth) => (auth as { Extra: { Version: string } }).Extra.Version)
  assert.deepEqual(versions, [VERSION, NEXT])
  assert.equal([...gateway.tunnels.values()][0]?.url, url)
  assert.match(await gateway.request(url!, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), /hello/)
  const previous = await runProgram(t, ['version'], { env, launcher: `${launcher}.previous` })
  assert.equal(previous.stdout, `adit version ${VERSION}\n`)
  program.child.kill('SIGTERM')
  assert.equal(await program.waitForExit(), 0)
})

test('an ad-hoc signature has the page hashes that Apple computes for the same program', () => {
  const program = readFileSync(fetchRuntime('darwin-arm64', runtimes))
  const signature = program.indexOf(Buffer.from('fade0cc0', 'hex'), program.length - 4_000_000)
  const directory = program.subarray(signature + program.readUInt32BE(signature + 16))
  const [hashOffset, pages] = [directory.readUInt32BE(16), directory.readUInt32BE(28)]

  const hashes = hashPages(program.subarray(0, directory.readUInt32BE(32)))

  assert.equal(hashes.length, pages)
  assert.ok(Buffer.concat(hashes).equals(directory.subarray(hashOffset, hashOffset + pages * 32)))
  assert.throws(() => withAdHocSignature(program, 'adit'), /signed already/)
})
