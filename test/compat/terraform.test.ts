import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reasonToSkip } from '../support/required-programs.ts'
import { run } from '../support/run.ts'
import { certificates } from '../support/samples.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { isolated } from './suites.ts'

const example = /```hcl \[account\.tf\]\n([\s\S]*?)```/.exec(
  readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'terraform.md'), 'utf8'),
)![1]!
const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')

const older = read('older-provider.tf')
const vaults = read('vaults.tf')

/** Every resource that a version of the provider has. */
const VERSIONS: Readonly<Record<string, string>> = {
  '0.4.0': older,
  '0.5.0': older + vaults,
  '0.6.0': older + vaults + read('vault-names.tf') + read('service-users.tf'),
  '0.7.0': older + vaults,
  '0.8.0': example,
}
/** The others cannot import. */
const IMPORTING = '0.8.0'

/** OpenTofu has the commands, the language and the state of Terraform. */
const PROGRAMS = { Terraform: 'terraform', OpenTofu: 'tofu' } as const

/** Each step must end well, and each plan must find nothing to change (`-detailed-exitcode`). */
const APPLY_AND_CHANGE = `
set -e
export NGROK_API_BASE_URL=$ADIT_API_URL TF_CLI_ARGS=-no-color
$PROGRAM apply -auto-approve
$PROGRAM plan -detailed-exitcode
export TF_VAR_description=changed
$PROGRAM apply -auto-approve
$PROGRAM plan -detailed-exitcode
`
/** Each resource is forgotten and imported again. */
const IMPORT = `
cp terraform.tfstate before.tfstate
$PROGRAM state list > resources
while read -r name; do
  id=$($PROGRAM state show "$name" | sed -n 's/^    id  *= "\\(.*\\)"$/\\1/p')
  $PROGRAM state rm "$name"
  $PROGRAM import "$name" "$id"
done < resources
cp terraform.tfstate imported.tfstate
`
const DESTROY = '$PROGRAM destroy -auto-approve'

/** What the API tells once, or never: an import cannot know it. */
const UNKNOWN_TO_IMPORTS = [
  ...['private_key_pem', 'token', 'value'],
  // What a key is made from; the API answers the kind of key that came of it.
  ...['elliptic_curve', 'key_size', 'private_key_type'],
]

type Attributes = Record<string, unknown>

function readState(dir: string, name: string): Record<string, Attributes> {
  const { resources } = JSON.parse(readFileSync(join(dir, name), 'utf8')) as {
    resources: { type: string; instances: [{ attributes: Attributes }] }[]
  }
  return Object.fromEntries(
    resources.map(({ type, instances: [{ attributes }] }) => {
      const known = Object.entries(attributes).filter(([field]) => !UNKNOWN_TO_IMPORTS.includes(field))
      return [type, Object.fromEntries(known)]
    }),
  )
}

async function writeConfiguration(dir: string, version: string, configuration: string): Promise<void> {
  const text = configuration
    .replace(/version = "[^"]+"/, `version = "${version}"`)
    .replace(/ {2}api_base_url.*\n/, '')
  const { ca, leaf } = await certificates()
  const files = { 'account.tf': text, 'ca.pem': ca.caPem, 'certificate.pem': leaf.cert, 'key.pem': leaf.key }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content)
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(dir, 'id')])
}

/** Downloads the provider; the reason why that is not possible where its registry is out of reach. */
function initialize(program: string, dir: string): string | undefined {
  const { status, stderr } = spawnSync(program, [`-chdir=${dir}`, 'init', '-no-color'], { encoding: 'utf8' })
  if (status === 0) return undefined
  assert.match(stderr, /could not connect to registry/, stderr)
  return `the registry of ${program} cannot be reached from here`
}

async function live(program: string, dir: string, script: string): Promise<void> {
  const command = isolated(['sh', '-c', `cd ${dir}\n${script}`])
  const environment = { ...process.env, PROGRAM: program } as Record<string, string>
  const { code, stdout, stderr } = await run(command, environment)
  assert.equal(code, 0, `${stdout.slice(-3000)}\n${stderr}`)
}

/** The names of all resources that the provider has. */
function resourcesOf(program: string, dir: string): string[] {
  const output = execFileSync(program, [`-chdir=${dir}`, 'providers', 'schema', '-json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  const { provider_schemas } = JSON.parse(output) as {
    provider_schemas: Record<string, { resource_schemas: object }>
  }
  return Object.values(provider_schemas).flatMap((schema) => Object.keys(schema.resource_schemas))
}

for (const [name, program] of Object.entries(PROGRAMS))
  for (const [version, configuration] of Object.entries(VERSIONS))
    test(`${name} takes an account with every resource of provider ${version} through its life`, {
      skip: reasonToSkip('ip', 'ssh-keygen', program, 'unshare'),
    }, async (t) => {
      const dir = createTempDir()
      const imports = version === IMPORTING
      await writeConfiguration(dir, version, configuration)

      const reason = initialize(program, dir)
      if (reason !== undefined) return t.skip(reason)
      await live(program, dir, `${APPLY_AND_CHANGE}${imports ? IMPORT : ''}${DESTROY}`)

      const configured = [...configuration.matchAll(/^resource "(\w+)"/gm)].map(([, type = '']) => type)
      assert.deepEqual([...new Set(configured)].sort(), resourcesOf(program, dir).sort())
      if (imports) assert.deepEqual(readState(dir, 'imported.tfstate'), readState(dir, 'before.tfstate'))
    })
