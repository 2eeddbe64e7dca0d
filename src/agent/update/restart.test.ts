import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bundle } from '../../../scripts/build/bundle.ts'
import { cleanEnv, gatewayFlags, startProgram } from '../../../test/support/agent-process.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { BASE_ROOT, VERSION } from '../../base/version.ts'
import { StreamType } from '../../protocol/index.ts'
import { TestGateway } from '../testing/gateway.ts'
import { startHttpService } from '../testing/local-api.ts'

const NEXT = VERSION.replace(/\d+$/, (patch) => String(Number(patch) + 1))

/** A copy of this checkout that can be updated, and a channel with the package of its next version. */
async function createInstallation() {
  const home = createTempDir()
  const root = join(home, 'adit')
  mkdirSync(root)
  for (const each of ['bin', 'src', 'package.json'])
    cpSync(join(BASE_ROOT, each), join(root, each), { recursive: true })
  symlinkSync(join(BASE_ROOT, 'node_modules'), join(root, 'node_modules'))

  const build = join(home, 'build', 'package')
  await bundle({
    entries: { cli: join(BASE_ROOT, 'src/agent-cli.ts') },
    directory: join(build, 'dist', 'lib'),
  })
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(build, 'package.json'), JSON.stringify({ ...manifest, version: NEXT }))
  const channel = join(home, 'releases', 'stable')
  mkdirSync(channel, { recursive: true })
  execFileSync('tar', ['-czf', join(channel, 'adit.tgz'), '-C', join(home, 'build'), 'package'])
  const archive = readFileSync(join(channel, 'adit.tgz'))
  const keys = generateKeyPairSync('ed25519')
  const updateManifest = Buffer.from(
    JSON.stringify({
      name: 'adit',
      version: NEXT,
      archive: {
        file: 'adit.tgz',
        sha256: createHash('sha256').update(archive).digest('hex'),
        size: archive.length,
      },
    }),
  )
  writeFileSync(join(channel, 'manifest.json'), updateManifest)
  writeFileSync(
    join(channel, 'manifest.json.sig'),
    sign(null, updateManifest, keys.privateKey).toString('base64'),
  )
  const raw = keys.publicKey.export({ format: 'jwk' }).x
  return { home, root, updates: [`--update-url=${join(home, 'releases')}`, `--update-key=${raw}`] }
}

test('after an update and a restart by the server the new version runs under the same process id and names', async (t) => {
  const gateway = await TestGateway.start(t)
  const { home, root, updates } = await createInstallation()
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const program = startProgram(
    t,
    ['http', addr, '--web-addr=false', '--log=stdout', ...updates, ...gatewayFlags(gateway, home)],
    {
      env: cleanEnv(home),
      launcher: join(root, 'bin', 'adit'),
    },
  )
  await program.until(({ stdout }) => /started tunnel/.test(stdout))
  const [url] = [...gateway.tunnels.values()].map((bound) => bound.url)
  await program.until(({ stdout }) => stdout.includes(`msg="update available" obj=updater version=${NEXT}`))

  const request = { Version: '', PermitMajorVersion: false }
  await gateway.session!.command(StreamType.Update, request)
  await program.until(({ stdout }) => /update installed/.test(stdout))
  await assert.rejects(gateway.session!.command(StreamType.Update, request), /not restarted yet/)
  await gateway.session!.command(StreamType.Restart, {})
  await eventually(() => gateway.auths.length === 2 && gateway.tunnels.size === 1)

  const [before, after] = gateway.auths as { ClientId: string; Extra: { Version: string } }[]
  assert.deepEqual([before?.Extra.Version, after?.Extra.Version], [VERSION, NEXT])
  assert.match(after?.ClientId ?? '', /^client-/)
  assert.equal([...gateway.tunnels.values()][0]?.url, url)
  assert.match(await gateway.request(url!, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), /hello/)
  program.child.kill('SIGTERM')
  assert.equal(await program.waitForExit(), 0)
})
