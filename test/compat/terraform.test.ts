import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../support/api.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { run } from '../support/run.ts'
import { certificates } from '../support/samples.ts'
import { isolated } from './suites.ts'

const skip = reasonToSkip('ip', 'ssh-keygen', 'terraform', 'unshare')

const example = /```hcl \[account\.tf\]\n([\s\S]*?)```/.exec(
  readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'terraform.md'), 'utf8'),
)![1]!
const older = readFileSync(join(import.meta.dirname, 'older-provider.tf'), 'utf8')

/** Each step must end well, and each plan must find nothing to change (`-detailed-exitcode`). */
const APPLY_AND_CHANGE = `
set -e
export NGROK_API_BASE_URL=$ADIT_API_URL TF_CLI_ARGS=-no-color
terraform apply -auto-approve
terraform plan -detailed-exitcode
export TF_VAR_description=changed
terraform apply -auto-approve
terraform plan -detailed-exitcode
`
/** Each resource is forgotten and imported again. */
const IMPORT = `
cp terraform.tfstate before.tfstate
terraform state list > resources
while read -r name; do
  id=$(terraform state show "$name" | sed -n 's/^    id  *= "\\(.*\\)"$/\\1/p')
  terraform state rm "$name"
  terraform import "$name" "$id"
done < resources
cp terraform.tfstate imported.tfstate
`
const DESTROY = 'terraform destroy -auto-approve'

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

async function live(dir: string, script: string): Promise<void> {
  execFileSync('terraform', [`-chdir=${dir}`, 'init', '-no-color'])
  const command = isolated(['sh', '-c', `cd ${dir}\n${script}`])
  const { code, stdout, stderr } = await run(command, process.env as Record<string, string>)
  assert.equal(code, 0, `${stdout.slice(-3000)}\n${stderr}`)
}

// These versions cannot import.
for (const version of ['0.4.0', '0.5.0', '0.6.0', '0.7.0'])
  test(`Terraform applies, changes and destroys an account with provider ${version}`, { skip }, async (t) => {
    const dir = await tempDir(t)
    await writeConfiguration(dir, version, older)
    await live(dir, `${APPLY_AND_CHANGE}${DESTROY}`)
  })

test('Terraform applies, changes, imports and destroys the documented account with provider 0.8.0', {
  skip,
}, async (t) => {
  const dir = await tempDir(t)
  await writeConfiguration(dir, '0.8.0', example)
  await live(dir, `${APPLY_AND_CHANGE}${IMPORT}${DESTROY}`)
  assert.deepEqual(readState(dir, 'imported.tfstate'), readState(dir, 'before.tfstate'))
})
