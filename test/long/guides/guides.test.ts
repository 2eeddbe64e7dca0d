// Every command of the guides and of the README, on empty machines: a server that `adit server setup` has made as the documents
// say, and that of a reader, which trusts a public authority alone.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { readSteps } from './guide.ts'
import { failedChecks, NOT_PUBLIC, prepare, root, skip, startMachines, startWithServer } from './machines.ts'

const guides = join(root, 'docs/guides')
const readDocument = (path: string) => readFile(join(root, path), 'utf8')

before(prepare)

/** What a reader does once, before the first guide. */
const preparation = readSteps(await readDocument('docs/guides/index.md'))

for (const file of (await readdir(guides)).filter((name) => name.endsWith('.md') && name !== 'index.md'))
  test(`every command of the guide ${file} works`, { skip }, async (t) => {
    const { reader } = await startWithServer(t)

    await reader.follow('index.md', preparation)
    await reader.follow(file, readSteps(await readFile(join(guides, file), 'utf8')))
  })

test('every command of the README works', { skip }, async (t) => {
  const { reader } = await startWithServer(t)

  // Has the authtoken that the README takes from the dashboard.
  await reader.type('server', 'sudo cat /var/lib/adit/credentials.json')
  await reader.follow('README.md', readSteps(await readDocument('README.md')))
})

test('adit server setup ends with a server that passes its own check and prints addresses that work', {
  skip,
}, async (t) => {
  const { reader, report } = await startWithServer(t)

  assert.deepEqual(failedChecks(report), NOT_PUBLIC, report)
  assert.match(report, /Adit is ready\./)
  const [dashboard = ''] = /https:\/\/dashboard\.\S+/.exec(report) ?? []
  assert.match(await reader.type('laptop', `curl -fsS '${dashboard}'`), /<script type="module"/)
  const [, agents = ''] = /Agents +(\S+)/.exec(report) ?? []
  assert.equal(agents, 'connect.tunnels.example.com:4443')
  const check = await reader.type('server', 'sudo adit server check || true')
  assert.deepEqual(failedChecks(check), NOT_PUBLIC, check)
  assert.match(await reader.type('server', 'sudo adit server certs'), /^tunnels\.example\.com +valid/m)
})

test('a hidden block cannot supply what a reader lacks', { skip }, async (t) => {
  const reader = startMachines(t)
  const hidden = `<!-- hidden
SUPPLIED=1; export SUPPLIED
! command -v adit
for path in /etc/hosts /etc/ssl/certs/ca-certificates.crt /etc/adit /usr/local/bin/adit /var/lib/adit "$DIRECTORY/laptop/home/.config"; do
  ! touch "$path"
done
! mkdir -p ~/.config
-->
\`\`\`sh
test -z "\${SUPPLIED-}"
\`\`\``

  await reader.follow('hidden', readSteps(hidden))
})
