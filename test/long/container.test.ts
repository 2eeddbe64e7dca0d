// The container file, built by buildah without a daemon from a clean checkout, and run.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { buildContainerImage, type ContainerImage } from '../support/container-image.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { reasonToSkip } from '../support/required-programs.ts'

const root = join(import.meta.dirname, '..', '..')
const skip = reasonToSkip('buildah', 'debootstrap', 'unshare')
let image: ContainerImage

before(() => {
  if (skip === false) image = buildContainerImage()
})

after(() => image?.remove())

/** The configuration of the image, as container engines read it. */
function inspectImage() {
  const { OCIv1, Docker } = JSON.parse(image.buildah('inspect', '--type', 'image', 'adit'))
  return {
    user: OCIv1.config.User as string,
    entrypoint: OCIv1.config.Entrypoint as string[],
    command: OCIv1.config.Cmd as string[],
    healthCheck: Docker.config.Healthcheck.Test.slice(1) as string[],
  }
}

/** Starts the entry point of the image with these arguments, and waits until the server is ready. */
async function startServer(
  t: TestContext,
  container: string,
  { args, environment = {} }: { args: readonly string[]; environment?: Record<string, string> },
) {
  const flags = Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const [program, ...rest] = image.wrap(container, [...inspectImage().entrypoint, ...args], flags)
  const server = spawn(program, rest)
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
  return {
    output: () => output,
    async stop() {
      const exited = once(server, 'exit')
      server.kill('SIGTERM')
      await exited
    },
  }
}

/** Every listener on the loopback address, at a port that is free. */
async function freeAddresses(): Promise<Record<string, string>> {
  const names = ['HTTP', 'HTTPS', 'AGENT', 'SSH', 'DNS', 'API']
  const entries: [string, string][] = []
  for (const name of names) entries.push([`ADIT_${name}_ADDR`, `127.0.0.1:${await findFreePorts(1)}`])
  return Object.fromEntries(entries)
}

test('the container runs as its own user, serves the dashboard and reports its health', {
  skip,
}, async (t) => {
  const { user, command, healthCheck } = inspectImage()
  const container = image.buildah('from', '--pull-never', 'adit')
  const run = (...words: string[]) => image.buildah('run', '--isolation', 'chroot', container, '--', ...words)
  const addresses = await freeAddresses()
  const environment = { ...addresses, ADIT_DOMAIN: 'adit.localhost' }

  assert.equal(user, 'adit')
  assert.equal(run('id', '-un'), 'adit')
  assert.match(run('adit', 'version'), /^adit version /)
  const server = await startServer(t, container, { args: command, environment })
  const page = await fetch(`http://${addresses.ADIT_API_ADDR}/dashboard/`)
  assert.match(await page.text(), /<script type="module"/)
  // The check of a container follows the address that it was configured with.
  const flags = ['--env', `ADIT_API_ADDR=${addresses.ADIT_API_ADDR}`]
  image.buildah('run', '--isolation', 'chroot', ...flags, container, '--', ...healthCheck)
  assert.throws(() =>
    image.buildah(
      'run',
      '--isolation',
      'chroot',
      '--env',
      'ADIT_API_ADDR=127.0.0.1:1',
      container,
      '--',
      ...healthCheck,
    ),
  )
  await server.stop()
})

test('the environment and command of the compose file start the server on PostgreSQL', {
  skip,
}, async (t) => {
  const { url } = await createTestDatabase(t)
  const compose = parse(readFileSync(join(root, 'deploy', 'compose.yaml'), 'utf8'))
  const { environment, command } = compose.services.adit as {
    environment: Record<string, string>
    command: string[]
  }
  // What the operator exports; an engine replaces the rest with its defaults.
  const exported: Record<string, string> = {
    ADIT_DOMAIN: 'tunnels.example.test',
    ADIT_PUBLIC_IPS: '127.0.0.1',
    ADIT_ACME_DIRECTORY: 'http://127.0.0.1:1/directory',
    ADIT_ACME_EMAIL: 'you@example.test',
    POSTGRES_PASSWORD: 'secret',
  }
  const expanded = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, expandVariables(value, exported)]),
  )
  assert.equal(expanded.ADIT_DATABASE_URL, 'postgres://adit:secret@db/adit')
  const addresses = await freeAddresses()
  const container = image.buildah('from', '--pull-never', 'adit')

  const server = await startServer(t, container, {
    args: command,
    environment: { ...expanded, ...addresses, ADIT_DATABASE_URL: url },
  })

  const ready = await fetch(`http://${addresses.ADIT_API_ADDR}/readyz?strict`)
  assert.equal(ready.status, 200)
  assert.match(server.output(), /https:\/\/dashboard\.tunnels\.example\.test\/dashboard\//)
  await server.stop()
})

/** Expands `${NAME:-default}` and `${NAME:?message}` as compose does. */
function expandVariables(text: string, variables: Record<string, string>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_match, name: string, operator, rest: string) => {
    const value = variables[name]
    if (value !== undefined) return value
    assert.equal(operator, '-', `${name} has to be set: ${rest}`)
    return rest
  })
}
