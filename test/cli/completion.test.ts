import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { runProgram } from '../support/agent-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const run = promisify(execFile)

/** What each command line offers after its last word. */
const LINES: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['adit ht', ['http']],
  ['adit http --basic', ['--basic-auth']],
  ['adit config add-auth', ['add-authtoken']],
  ['adit api reserved-d', ['reserved-domains']],
  ['adit api ip-policy-rules create --ci', ['--cidr']],
  ['adit server back', ['backup']],
  ['adit server backup --data', ['--data-dir', '--database-url']],
]

const scripts = new Map<string, string>()

for (const shell of ['bash', 'zsh', 'fish', 'powershell'])
  test(`completion code for ${shell} is printed`, async (t) => {
    const home = createTempDir()

    const { code, stdout, stderr } = await runProgram(t, ['completion', shell], {
      env: { PATH: process.env.PATH!, HOME: home },
    })

    assert.equal(code, 0, stderr)
    scripts.set(shell, stdout)
  })

async function offeredBy(shell: string, script: string): Promise<string[]> {
  const { stdout } = await run(shell, ['-c', script])
  return stdout.split('\n').filter((line) => line !== '')
}

test('bash offers commands and flags of the agent, the API and the server', async () => {
  for (const [line, offered] of LINES) {
    const words = line.split(' ')
    const list = words.map((word) => `'${word}'`).join(' ')
    const script = `${scripts.get('bash')}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _adit; printf '%s\\n' "\${COMPREPLY[@]}"`

    for (const word of offered) assert.ok((await offeredBy('bash', script)).includes(word), line)
  }
})

test('fish offers the same', async () => {
  const file = join(createTempDir(), 'adit.fish')
  writeFileSync(file, scripts.get('fish')!)
  for (const [line, offered] of LINES) {
    const words = await offeredBy('fish', `source ${file}; complete -C '${line}'`)

    for (const word of offered) assert.ok(words.includes(word), `${line}: ${words.join(' ')}`)
  }
})

test('zsh loads the code and offers the same', async () => {
  const file = join(createTempDir(), 'adit.zsh')
  writeFileSync(file, scripts.get('zsh')!.replace('compinit && compinit\n', 'compinit && compinit -D\n'))
  for (const [line, offered] of LINES) {
    const words = line.split(' ')
    const list = words.map((word) => `'${word}'`).join(' ')
    // As bashcompinit calls it: arrays that begin at 0.
    const script = `source ${file}; setopt ksharrays shwordsplit; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _adit; printf '%s\\n' "\${COMPREPLY[@]}"`
    const printed = await offeredBy('zsh', script)

    for (const word of offered) assert.ok(printed.includes(word), `${line}: ${printed.join(' ')}`)
  }
})

test('the code for PowerShell has every command with its words', () => {
  const script = scripts.get('powershell')!

  assert.match(script, /^Register-ArgumentCompleter -Native -CommandName adit -ScriptBlock \{$/m)
  assert.match(script, /^ {4}'server backup' = '.*--data-dir .*'$/m)
  assert.match(script, /^ {4}'api ip-policy-rules create' = '.*--cidr .*'$/m)
  assert.match(script, /^ {4}'completion' = 'bash zsh fish powershell/m)
})
