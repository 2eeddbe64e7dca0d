// Each install channel in a system that has nothing but Debian's base system: installed as docs/install.md says, then server,
// agent, a request to the URL, the dashboard in Chromium, and removed. The measured times go to dist/channels.json, from
// which "npm run sizes -- --write" makes the table in docs/install.md.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from '../../src/base/version.ts'
import { buildContainerImage, TRUSTED_ROOTS } from '../support/container-image.ts'
import type { DebianRoot } from '../support/debian-root.ts'
import { createSystem, installNode, installPackages } from '../support/debian-system.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-ports.ts'
import { startHttp } from '../support/local-server.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { launchChromium } from '../web/browser.ts'

const root = join(import.meta.dirname, '..', '..')
const release = join(root, 'dist', 'release')
const resultsFile = join(root, 'dist', 'channels.json')
const DATA = '/var/lib/adit'
const VERSION_RUNS = 9
const START_TIMEOUT_MS = 300_000

/** Where a channel has installed the program. */
interface Installation {
  /** The command line that runs a command there. */
  wrap(command: readonly string[]): [string, ...string[]]
  uninstall(): void
}

type Measurements = { install_ms: number; first_url_ms: number; version_ms: number }
const results: Record<string, Measurements> = {}

after(() => {
  if (Object.keys(results).length === 0) return
  // A run of some channels keeps the times of the others.
  const earlier = existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}
  writeFileSync(resultsFile, `${JSON.stringify({ ...earlier, ...results }, null, 2)}\n`)
  console.table(results)
})

function reasonToSkipChannel(artefact?: string): string | false {
  if (artefact !== undefined && !existsSync(join(release, artefact)))
    return `needs ${artefact} in dist/release: npm run release`
  return reasonToSkip('debootstrap', 'unshare', 'chromium')
}

/** Installs, uses and removes the program; `install` returns once the program could be started. */
function testChannel(
  name: string,
  skip: string | false,
  prepare: (t: TestContext) => { install: () => Installation },
): void {
  test(`${name}: installed in an empty system, it serves a URL and the dashboard, and is removed`, {
    skip,
  }, async (t) => {
    const { install } = prepare(t)
    const startedAt = performance.now()
    const installation = install()
    const install_ms = performance.now() - startedAt

    const version_ms = measureVersion(installation)
    const first_url_ms = await serveFirstUrl(t, installation)
    installation.uninstall()

    const [program, ...args] = installation.wrap(['adit', 'version'])
    assert.notEqual(spawnSync(program, args).status, 0, 'it is removed')
    results[name] = { install_ms, first_url_ms, version_ms }
  })
}

/** The time of the fastest run of `adit version`: other programs of the machine only add to it. */
function measureVersion({ wrap }: Installation): number {
  const [program, ...args] = wrap(['adit', 'version'])
  const times = Array.from({ length: VERSION_RUNS }, () => {
    const startedAt = performance.now()
    assert.equal(execFileSync(program, args, { encoding: 'utf8' }), `adit version ${VERSION}\n`)
    return performance.now() - startedAt
  })
  return Math.min(...times)
}

/** Starts server and agent, opens the URL and the dashboard; returns the time from the first start to the first response. */
async function serveFirstUrl(t: TestContext, { wrap }: Installation): Promise<number> {
  const start = (...command: string[]) => startProgram(t, wrap(command))
  const local = await startHttp(t, (_request, response) => response.end('hello from the local service'))
  const startedAt = performance.now()
  const server = start('adit', 'server', '--data-dir', DATA, ...ANY_PORTS)
  await eventually(() => server.output().includes('Adit is ready.'), server.output, START_TIMEOUT_MS)
  const agent = start('env', `ADIT_DATA_DIR=${DATA}`, 'adit', 'http', String(local), '--web-addr=false')
  const [, url] = await eventually(
    () => /Forwarding +(http:\S+)/.exec(agent.output()),
    agent.output,
    START_TIMEOUT_MS,
  )
  const { stdout } = await promisify(execFile)('curl', ['-sS', '--max-time', '60', url!])
  const firstUrlMs = performance.now() - startedAt
  assert.equal(stdout, 'hello from the local service')

  const [program, ...args] = wrap(['adit', 'server', 'admin-link', '--data-dir', DATA])
  const { stdout: message } = await promisify(execFile)(program, args)
  await openDashboard(t, /http\S+token=\S+/.exec(message)![0])

  await agent.stop()
  await server.stop()
  return firstUrlMs
}

function startProgram(t: TestContext, [program, ...args]: [string, ...string[]]) {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  return {
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Sets the first password by the link, with a browser outside of the system. */
async function openDashboard(t: TestContext, link: string): Promise<void> {
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(link)
  for (const label of ['Password', 'Confirm password'])
    await page.getByLabel(label, { exact: true }).fill('correct horse battery staple')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Puts the files of a release into the system. */
function copyRelease(system: DebianRoot, ...patterns: RegExp[]): void {
  for (const file of readdirSync(release))
    if (patterns.some((pattern) => pattern.test(file)))
      cpSync(join(release, file), join(system.directory, 'release', file))
}

testChannel('npm', reasonToSkipChannel(`adit-server-${VERSION}.tgz`), (t) => {
  const system = createSystem(t)
  // The machine has Node 24 already.
  installNode(system)
  copyRelease(system, /\.tgz$/)
  const wrap = (command: readonly string[]) =>
    system.wrap(['env', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...command])
  const npm = (...words: string[]) =>
    execFileSync(wrap(['npm', ...words])[0], wrap(['npm', ...words]).slice(1))
  return {
    install() {
      npm('install', '--global', '--offline', `/release/adit-server-${VERSION}.tgz`)
      return { wrap, uninstall: () => npm('uninstall', '--global', 'adit-server') }
    },
  }
})

testChannel('executable', reasonToSkipChannel(`adit-${VERSION}-linux-x64.gz`), (t) => {
  const system = createSystem(t)
  copyRelease(system, /linux-x64/, /^SHA256SUMS/, /^install\.sh$/, /^release\.pub$/)
  const isSigned = existsSync(join(release, 'release.pub'))
  const trust = isSigned ? ['--key', '/release/release.pub'] : ['--no-signature']
  const wrap = (command: readonly string[]) =>
    system.wrap(['env', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...command])

  // The base system lacks a library, and the installer says which package has it.
  const [program, ...args] = system.wrap(['sh', '/release/install.sh', ...trust, '/release'])
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, /the program needs libatomic \(Debian, Ubuntu: apt-get install -y libatomic1/)
  return {
    install() {
      installPackages(system, 'libatomic1')
      system.run('sh', '/release/install.sh', ...trust, '/release')
      return { wrap, uninstall: () => void system.run('sh', '/release/install.sh', '--uninstall') }
    },
  }
})

testChannel('deb', reasonToSkipChannel(`adit_${VERSION}_amd64.deb`), (t) => {
  const system = createSystem(t)
  copyRelease(system, /_amd64\.deb$/)
  return {
    install() {
      installPackages(system, `/release/adit_${VERSION}_amd64.deb`)
      return { wrap: system.wrap, uninstall: () => void system.run('apt-get', 'purge', '-y', '-qq', 'adit') }
    },
  }
})

testChannel('clone', reasonToSkipChannel(), (t) => {
  const system = createSystem(t)
  const repository = join(system.directory, 'srv', 'adit.git')
  execFileSync('git', ['clone', '--quiet', '--bare', '--depth=1', `file://${root}`, repository])
  const wrap = (command: readonly string[]) =>
    system.wrap([
      'env',
      `NODE_EXTRA_CA_CERTS=${TRUSTED_ROOTS}`,
      'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      ...command,
    ])
  const setUp = () => {
    const [program, ...args] = wrap(['sh', '/opt/adit/scripts/setup.sh'])
    return spawnSync(program, args, { encoding: 'utf8' })
  }
  return {
    install() {
      installPackages(system, 'git', 'nodejs', 'npm', 'ca-certificates')
      system.run('git', 'clone', '--quiet', '/srv/adit.git', '/opt/adit')
      const first = setUp()
      if (first.status !== 0) {
        assert.match(first.stderr, /apt-get install -y libatomic1/)
        installPackages(system, 'libatomic1')
        const second = setUp()
        assert.equal(second.status, 0, second.stderr)
      }
      system.run('ln', '-s', '/opt/adit/bin/adit', '/usr/local/bin/adit')
      return { wrap, uninstall: () => void system.run('rm', '-r', '/opt/adit', '/usr/local/bin/adit') }
    },
  }
})

testChannel('container', reasonToSkip('buildah', 'debootstrap', 'unshare', 'chromium'), (t) => ({
  install() {
    const image = buildContainerImage()
    t.after(() => image.remove())
    const container = image.buildah('from', '--pull-never', 'adit')
    return {
      wrap: (command) => image.wrap(container, command),
      uninstall() {
        image.buildah('rm', container)
        image.buildah('rmi', 'adit')
      },
    }
  },
}))
