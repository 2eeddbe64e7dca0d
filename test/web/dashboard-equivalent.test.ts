import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { routes } from '../../src/api/all-routes.ts'
import { documentedOpenApi } from '../../src/api/reference/openapi.ts'
import { commandsOf } from '../../src/api-cli/commands.ts'
import { parseCommand } from '../../src/api-cli/parse.ts'
import {
  type ApiCall,
  formatAditCommand,
  formatCurl,
  type Operations,
} from '../../src/web/dashboard/equivalent.ts'

const operations = documentedOpenApi() as unknown as Operations
const commands = commandsOf(routes)

/** Parses a command line with a real shell. */
async function shellArguments(line: string): Promise<string[]> {
  const script = `set -- ${line}\nprintf '%s\\0' "$@"`
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script], {
    env: { ADIT_API_KEY: 'the key' },
  })
  return stdout.split('\0').slice(0, -1)
}

const CALLS: readonly ApiCall[] = [
  { method: 'POST', path: '/api_keys', body: {} },
  {
    method: 'POST',
    path: '/api_keys',
    body: { description: 'it\'s "quoted" $HOME `x` \\ --flag', metadata: '@file' },
  },
  {
    method: 'POST',
    path: '/credentials',
    body: { acl: ['bind:a.example.com', 'bind:*.b, c'], metadata: '' },
  },
  {
    method: 'POST',
    path: '/ssh_user_certificates',
    body: {
      public_key: 'ssh-ed25519 AAAA\nwith a line end',
      ssh_certificate_authority_id: 'sshca_1',
      extensions: { 'permit-pty': '' },
    },
  },
  {
    method: 'POST',
    path: '/event_destinations',
    body: { target: { webhook: { url: 'https://x/?a=1&b=2', secret: "s'" } } },
  },
  { method: 'PATCH', path: '/users/usr_1', body: { active: false, role: 'admin', name: null } },
  { method: 'PATCH', path: '/backends/weighted/bkdwd_1', body: { backends: { bkdhr_1: 3 } } },
  { method: 'PUT', path: '/edges/https/edghts_1/routes/edghtsrt_1/compression', body: { enabled: true } },
  { method: 'DELETE', path: '/reserved_addrs/ra_1/endpoint_configuration' },
  { method: 'POST', path: '/tunnel_sessions/ts_1/restart', body: {} },
]

for (const call of CALLS) {
  const name = `${call.method} ${call.path} ${JSON.stringify(call.body ?? '')}`

  test(`the adit api command is equivalent: ${name}`, async () => {
    const [, , ...words] = await shellArguments(formatAditCommand(call, operations)!)

    const command = commands
      .filter(({ words: commandWords }) => commandWords.every((word, index) => words[index] === word))
      .sort((one, other) => other.words.length - one.words.length)[0]!
    const { ids, body } = parseCommand(command, words.slice(command.words.length))
    let idIndex = 0
    const path = command.route.path.replace(/\{[a-z_]+\}/g, () => ids[idIndex++]!)
    assert.equal(command.route.method, call.method)
    assert.equal(path, call.path)
    assert.deepEqual(body ?? {}, call.body ?? {})
  })

  test(`the curl command is equivalent: ${name}`, async () => {
    const words = await shellArguments(formatCurl(call, 'http://127.0.0.1:4080'))

    assert.deepEqual(words.slice(0, 4), ['curl', '-X', call.method, `http://127.0.0.1:4080${call.path}`])
    assert.ok(words.includes('Authorization: Bearer the key'))
    const data = words[words.indexOf('-d') + 1]!
    assert.deepEqual(call.body === undefined ? undefined : JSON.parse(data), call.body)
  })
}

test('control characters of a value do not reach the terminal', () => {
  const line = formatCurl(
    { method: 'POST', path: '/api_keys', body: { description: '\x1b]0;title\x07' } },
    'http://a',
  )

  assert.doesNotMatch(line, /[\x00-\x08\x0b-\x1f\x7f]/)
})
