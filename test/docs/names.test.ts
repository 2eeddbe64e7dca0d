import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentManifest } from '../../scripts/build/manifest.ts'

const root = join(import.meta.dirname, '..', '..')
const texts = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*', 'scripts/*.sh', 'src/**/*.{ts,tsx}'], {
  cwd: root,
})
  .filter((path) => /(?:\.\w+|file)$/.test(path) && !/\.test\.ts$|\/testing\/|CHANGELOG/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const PUBLISHED = [manifest.name, agentManifest(manifest).name]

/** Packages and images of others that the documents mean: what examples forward, and what development needs. */
const OTHERS = ['serve', 'nginx', 'node', 'openapi-typescript']

/** A command or key that fetches, and the flags between it and the name. */
const FLAGS = String.raw`(?:\s+--?[\w-]+(?:=\S+)?)*`
const INSTALL = [
  String.raw`\bnpm (?:install|i|add|exec|x)${FLAGS}`,
  String.raw`\bnpx${FLAGS}`,
  String.raw`\b(?:yarn|pnpm|bun) (?:add|dlx|global add)${FLAGS}`,
  String.raw`\b(?:docker|podman) pull${FLAGS}`,
  String.raw`^\s*image:`,
].map((command) => new RegExp(String.raw`${command}\s+['"\`]?([@\w./][@\w./:-]*)`, 'gm'))

/** Whether a name leads to what is on this machine, at a named host, or at somebody whom the documents mean. */
function isSafe(name: string): boolean {
  const isLocal = /^(?:\.{0,2}\/|localhost\/)/.test(name)
  const isAtHost = /^(?:https?:\/\/|[\w-]+(?:\.[\w-]+)+\/)/.test(name)
  const bare = name.replace(/(?<=.)[:@].*$/, '')
  return isLocal || isAtHost || PUBLISHED.includes(bare) || OTHERS.includes(bare)
}

function findInstalled(text: string): string[] {
  return INSTALL.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name))
}

test('no document or page installs a package or image that a release does not publish', () => {
  const examples = 'npx --yes adit\n`npm install adit`\n  image: adit\nnpm i -g adit@1\ndocker pull adit:1'
  assert.deepEqual(findInstalled(examples).filter(isSafe), [])
  assert.equal(findInstalled(examples).length, 5)
  const unsafe = texts.flatMap(({ path, text }) =>
    findInstalled(text)
      .filter((name) => !isSafe(name))
      .map((name) => `${path}: ${name}`),
  )

  assert.deepEqual(unsafe, [])
})

test('programs import the packages that a release publishes', () => {
  const imports = texts
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(?:from|import\(|require\()\s*['"](adit[\w-]*)(?:\/\w+)?['"]/g)].map(
        ([, name = '']) => ({ path, name }),
      ),
    )

  assert.deepEqual(
    imports.filter(({ name }) => !PUBLISHED.includes(name)),
    [],
  )
  assert.ok(imports.length >= 3)
})

test('agents are told one address', () => {
  const addresses = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:[\w-]+\.)*example\.com:4443|(?:add-connect-url|connect_url:) [\d.]+:\d+/g)].map(
      ([address]) => ({ path, address }),
    ),
  )

  assert.deepEqual(
    addresses.filter(({ address }) => !/^connect\.(?:tunnels\.)?example\.com:4443$/.test(address)),
    [],
  )
  assert.ok(addresses.length >= 8)
})

test('what a reader of the guides needs stands in no hidden block', () => {
  const hidden = texts
    .filter(({ path }) => path === 'README.md' || path.startsWith('docs/guides/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^<!-- hidden(?: on server)?\n([\s\S]*?)^-->$/gm)].map(([, block = '']) => ({
        path,
        block,
      })),
    )

  const supplied =
    /authtoken|api[-_]key|credentials\.json|ca\.pem|connect[-_](?:cas|url)|root[-_]cas|CA_BUNDLE|EXTRA_CA|outbound[-_]allow|install\.sh/i
  assert.deepEqual(
    hidden.filter(({ block }) => supplied.test(block)),
    [],
  )
  assert.ok(hidden.length > 10)
})
