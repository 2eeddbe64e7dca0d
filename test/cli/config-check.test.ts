import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { cleanEnv } from '../support/agent-process.ts'
import { startCommandHost } from '../support/command-host.ts'
import { startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

const host = startCommandHost()
after(() => host.stop())

const directory = createTempDir()
const env: Record<string, string> = cleanEnv(directory)

before(async (t) => {
  const { credentials } = await startPlatform(t as never)
  Object.assign(env, {
    ADIT_CONNECT_URL: credentials.agent_addr,
    ADIT_AUTHTOKEN: credentials.authtoken,
    ADIT_CONNECT_CAS: credentials.ca_file,
    ADIT_WEB_ADDR: 'false',
  })
})

const foreign = join(directory, 'foreign')
writeFileSync(foreign, 'notes')
const garbage = join(directory, 'garbage.pem')
writeFileSync(garbage, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
mkdirSync(join(directory, 'folder'))

/** One kind of mistake each, with its line in the file and the sentence of both commands. */
interface Mistake {
  title: string
  source: string
  line: number
  says: RegExp
}

/** A mistake in the third line of the file, in an http tunnel. */
const http = (title: string, key: string, says: RegExp): Mistake => ({
  title,
  source: `version: 3\ntunnels:\n  web: {proto: http, addr: 80, ${key}}\n`,
  line: 3,
  says,
})
const tunnel = (title: string, keys: string, says: RegExp): Mistake => ({
  title,
  source: `version: 3\ntunnels:\n  web: {${keys}}\n`,
  line: 3,
  says,
})
const endpoint = (title: string, keys: string, says: RegExp): Mistake => ({
  title,
  source: `version: 3\nendpoints:\n  - {name: web, ${keys}}\n`,
  line: 3,
  says,
})
const agent = (title: string, key: string, says: RegExp): Mistake => ({
  title,
  source: `version: 3\nagent:\n  ${key}\ntunnels:\n  web: {proto: http, addr: 80}\n`,
  line: 3,
  says,
})
const long = (length: number) => 'x'.repeat(length)

const MISTAKES: Mistake[] = [
  // What the agent rejects in the shape of a definition.
  http('an unknown key', 'subdomian: x', /unknown key "subdomian"; did you mean "subdomain"/),
  http('a value of another kind', 'inspect: perhaps', /inspect must be true or false/),
  http('a word that is none of the choices', 'app_protocol: http9', /must be one of http1, http2/),
  http('a number out of range', 'circuit_breaker: 2', /circuit_breaker must be a number from 0 to 1/),
  http('a text that is too long', `description: ${long(256)}`, /must not be longer than 255 bytes/),
  http('a single value for a list', 'basic_auth: a', /basic_auth must be a list/),
  // What it rejects in the combination of keys.
  tunnel('no protocol', 'addr: 80', /a tunnel needs "proto"/),
  tunnel('an unknown protocol', 'proto: htp, addr: 80', /Invalid protocol name 'htp'/),
  tunnel('no address', 'proto: http', /"addr" is required/),
  tunnel('an invalid address', 'proto: tcp, addr: nowhere', /needs a port/),
  tunnel('a directory that is not there', 'proto: http, addr: file:///none', /there is no directory/),
  tunnel('an invalid label', 'labels: [novalue], addr: 80', /must be key=value/),
  tunnel('a key of another kind', 'proto: tcp, addr: 22, subdomain: x', /does not apply to a tcp tunnel/),
  tunnel('an invalid public address', 'proto: tcp, addr: 22, remote_addr: x', /is not a public address/),
  tunnel('a certificate without a key', 'proto: tls, addr: 80, crt: x', /belong together/),
  tunnel('a file that is not there', 'proto: tls, addr: 80, crt: /none, key: /none', /cannot read the file/),
  http('two names', 'domain: a.b, subdomain: c', /give only one of/),
  http('two sign-ins', 'oauth: {provider: google}, oidc: {issuer_url: x}', /"oauth" or "oidc"/),
  http('two policies', 'policy: {}, traffic_policy: {}', /set only one of/),
  http('an invalid host header', 'host_header: "a b"', /is not a host name/),
  http('an unreadable authority', `mutual_tls_cas: ${garbage}`, /holds a certificate that cannot be read/),
  http('a short password', 'basic_auth: ["a:short"]', /8 to 128/),
  http('an invalid range', 'ip_restriction: {allow_cidrs: [1.2.3.4/33]}', /not a CIDR/),
  endpoint('an endpoint without upstream', 'url: https://a.test', /"upstream.url" is required/),
  endpoint('a URL with a path', 'url: https://a.test/x, upstream: {url: 80}', /must not have a path/),
  endpoint('an unknown scheme', 'url: ftp://a.test, upstream: {url: 80}', /scheme ftp:\/\/ is not supported/),
  {
    title: 'a name that is defined twice',
    source:
      'version: 3\ntunnels:\n  web: {proto: http, addr: 80}\nendpoints:\n  - {name: web, upstream: {url: 80}}\n',
    line: 5,
    says: /"name" must be unique/,
  },
  {
    title: 'the name that a definition has over plain http',
    source: 'version: 3\ntunnels:\n  web: {proto: http, addr: 80}\n  web (http): {proto: tcp, addr: 80}\n',
    line: 4,
    says: /"web \(http\)" is already the name of "web" over plain http/,
  },
  // What it rejects in its own keys.
  agent('an invalid address of the local API', 'web_addr: a:b:c', /web_addr .* must be host:port/),
  agent('an invalid address of the server', 'connect_url: a b', /is not the address of a server/),
  agent('authorities that are not there', 'connect_cas: /none', /cannot read the certificate authorities/),
  agent('authorities that cannot be read', `connect_cas: ${garbage}`, /certificate that cannot be read/),
  agent('an invalid proxy', 'proxy_url: ftp://x', /proxy_url must be http/),
  agent('an invalid name server', 'dns_resolver_ips: [one]', /is not the address of a name server/),
  agent('an unknown interface', 'connect_interface: none0', /there is no network interface "none0"/),
  agent('a log that cannot be written', 'log: /none/x', /cannot write the log to/),
  agent('an invalid range of hosts', 'web_allow_hosts: [10.0.0.0/33]', /is not an address range/),
  agent(
    'revoked certificates that are not there',
    'crl_url: /none',
    /cannot read the certificate revocation list/,
  ),
  agent('captures in a foreign file', `inspect_db_file: ${foreign}`, /is not a file of captured requests/),
  agent(
    'captures in a directory',
    `inspect_db_file: ${join(directory, 'folder')}`,
    /cannot be used: it is a directory/,
  ),
  agent(
    'captures below a file',
    `inspect_db_file: ${join(foreign, 'x')}`,
    /cannot be used: a part of the path is not a directory/,
  ),
  agent('a short heartbeat', 'heartbeat_interval: 10ms', /heartbeat interval must be at least 1 s/),
  agent('a short tolerance', 'heartbeat_tolerance: 10ms', /heartbeat tolerance must be at least 1 s/),
  // What every server rejects.
  http('an invalid domain name', 'domain: a..b', /"a\.\.b" is not a valid domain name/),
  http(
    'an unknown binding',
    'bindings: [cluster]',
    /a tunnel has one binding, public, internal or kubernetes/,
  ),
  http('an internal endpoint without a name', 'bindings: [internal]', /an internal endpoint needs a URL/),
  http(
    'a name for all internal endpoints',
    'url: https://a.test, bindings: [internal]',
    /ends in \.internal/,
  ),
  http(
    'an unknown provider',
    'oauth: {provider: none, client_id: a, client_secret: b}',
    /is not a provider of/,
  ),
  http('an invalid traffic policy', 'traffic_policy: {on_http_request: 1}', /traffic policy is not valid/),
  http(
    'an unknown action',
    'traffic_policy: {on_http_request: [{actions: [{type: no}]}]}',
    /there is no action "no" .*\(ERR_ADIT_2201\)/,
  ),
  tunnel(
    'a policy for other traffic',
    'proto: tcp, addr: 22, traffic_policy: {on_http_request: [{actions: [{type: deny}]}]}',
    /on_http_request is not a phase of tcp endpoints/,
  ),
  tunnel('a label that is too long', `labels: ["a=${long(256)}"], addr: 80`, /1 to 255 characters/),
  tunnel(
    'a port that is none',
    'proto: tcp, addr: 22, remote_addr: "a.test:70000"',
    /not of the form host:port/,
  ),
  {
    title: 'a name that is too long',
    source: `version: 3\nendpoints:\n  - {name: ${long(256)}, upstream: {url: 80}}\n`,
    line: 3,
    says: /Name is longer than 255 bytes/,
  },
]

for (const [index, { title, source, line, says }] of MISTAKES.entries()) {
  test(`what start rejects, check rejects in the same words: ${title}`, { timeout: 60_000 }, async () => {
    const config = join(directory, `${index}.yml`)
    writeFileSync(config, source, { mode: 0o600 })
    // A variable overrides the key that the file gets wrong.
    const key = /^agent:\n {2}(\w+)/m.exec(source)?.[1] ?? ''
    const { [`ADIT_${key.toUpperCase()}`]: _, ...environment } = env

    const check = await host.run(['config', 'check', '--config', config], { env: environment })
    const start = await host.run(['start', '--all', '--config', config], {
      env: environment,
      stopAfter: '://',
    })

    assert.deepEqual([check.code, start.code], [1, 1], start.stdout)
    assert.match(check.stderr, new RegExp(`^ERROR: {2}${config} line ${line}: `))
    assert.match(check.stderr, says)
    assert.ok(check.stderr.includes(sentenceOf(start.stderr)), `${check.stderr}\n${start.stderr}`)
  })
}

test('a definition that is not started prevents nothing, whatever is wrong with it', async () => {
  const config = join(directory, 'unused.yml')
  const source =
    'version: 3\ntunnels:\n  good: {proto: http, addr: 80}\n  bad: {proto: htp}\n  worse: {x: 1}\n  policy: {proto: http, addr: 80, traffic_policy: {x: 1}}\n'
  writeFileSync(config, source, { mode: 0o600 })

  const { code, stdout } = await host.run(['start', 'good', '--config', config], { env, stopAfter: '://' })

  assert.equal(code, 0)
  assert.match(stdout, /:\/\//)
})

/** The sentence in an error of `start`, without what the command puts before it. */
function sentenceOf(stderr: string): string {
  const [first = ''] = stderr.split('\n')
  return first.replace('ERROR:  ', '').replace('failed to start tunnel: ', '')
}
