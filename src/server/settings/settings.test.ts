import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import { formatSettingsHelp, readSettings, warnOfPassword } from './settings.ts'

test('every setting has a default', () => {
  const settings = readSettings([], { HOME: '/home/someone' })

  assert.equal(settings.dataDir, '/home/someone/.local/share/adit')
  assert.deepEqual(settings.apiAddr, { host: '127.0.0.1', port: 4080 })
  assert.deepEqual(settings.tcpPorts, [20_000, 20_999])
  assert.equal(settings.domain, 'adit.localhost')
  assert.deepEqual([...settings.roles], ['api', 'edge', 'gateway', 'dns', 'jobs'])
})

test('a flag wins over its variable, and both over the default', () => {
  const environment = { ADIT_DOMAIN: 'from.variable', ADIT_REGION: 'eu' }

  const settings = readSettings(['--domain', 'from.flag', '--api-addr=[::1]:0'], environment)

  assert.equal(settings.domain, 'from.flag')
  assert.equal(settings.region, 'eu')
  assert.deepEqual(settings.apiAddr, { host: '::1', port: 0 })
})

test('false as an address switches that listener off', () => {
  assert.equal(readSettings(['--dns-addr', 'false'], {}).dnsAddr, undefined)
})

test('trusted proxies are addresses and ranges, and listeners that require a header are named', () => {
  const settings = readSettings(
    ['--trusted-proxies', '10.0.0.0/8, 2001:db8::1', '--proxy-protocol', 'https,tcp'],
    { ADIT_FORWARDED_HEADER: 'Forwarded' },
  )

  assert.deepEqual(
    ['10.1.2.3', '2001:db8::1', '2001:db8::2', '192.0.2.1'].map((ip) => settings.trustedProxies?.(ip)),
    [true, true, false, false],
  )
  assert.deepEqual([...settings.proxyProtocol], ['https', 'tcp'])
  assert.equal(settings.forwardedHeader, 'forwarded')
  assert.equal(readSettings([], {}).trustedProxies, undefined)
})

test('an invalid setting is rejected with one sentence that names it', () => {
  const cases: [string[], NodeJS.ProcessEnv, RegExp][] = [
    [['--nope', '1'], {}, /"--nope" is not a flag/],
    [['--api-adr', 'x:1'], {}, /Did you mean --api-addr\?/],
    [['stray'], {}, /"stray" is not a flag/],
    [['--domain'], {}, /--domain needs a value/],
    [['--domain', 'a..b'], {}, /empty label/],
    [['--api-addr', 'localhost'], {}, /--api-addr must be .*, not "localhost"/],
    [['--api-addr', 'localhost:70000'], {}, /--api-addr/],
    [['--tcp-ports', '9-5'], {}, /--tcp-ports/],
    [['--peer-advertise', 'here'], {}, /--peer-advertise must be .*, not "here"/],
    [['--agent-public-addr', 'here'], {}, /--agent-public-addr must be .*, not "here"/],
    [['--region', 'moon'], {}, /--region must be .*, not "moon"/],
    [['--tls-cert', 'tls.pem'], {}, /--tls-cert and --tls-key must be set together/],
    [[], { ADIT_TLS_KEY: 'tls.key' }, /--tls-cert and --tls-key must be set together/],
    [['--roles', 'api,cook'], {}, /--roles/],
    [['--database-url', 'mysql://x'], {}, /postgres:\/\//],
    [['--database-url', 'postgres://me:CANARY@127.0.0.1:99999/db'], {}, /^(?!.*CANARY).*cannot be read/],
    [['--database-url', 'postgres://me:CANARY@[x/db'], {}, /^(?!.*CANARY).*cannot be read/],
    [['--trusted-proxies', '10.0.0.1/8'], {}, /--trusted-proxies: .*lowest address/],
    [['--trusted-proxies', '10.0.0.0/8,::/0'], {}, /::\/0 would let any visitor claim any address/],
    [['--forwarded-header', 'cf-connecting-ip'], {}, /--forwarded-header must be .*, not "cf-connecting-ip"/],
    [['--proxy-protocol', 'http,dns'], {}, /there is no listener "dns"; use one or more of http,https,tcp/],
    [['--proxy-protocol', 'http'], {}, /--proxy-protocol needs --trusted-proxies/],
    [['--dns-provider', 'godaddy'], {}, /--dns-provider must be one of cloudflare, digitalocean/],
    [['--dns-credentials', '/etc/x'], {}, /--dns-credentials needs --dns-provider/],
    [[], { ADIT_DOMANE: 'x' }, /There is no setting ADIT_DOMANE/],
  ]
  for (const [args, environment, sentence] of cases)
    assert.throws(
      () => readSettings(args, environment),
      (error: Error) =>
        error instanceof CommandFailure && sentence.test(error.message) && !error.message.includes('\n'),
      args.join(' '),
    )
})

test('a mistake on the command line is answered with these exact sentences', () => {
  const help = 'adit server --help lists them all.'
  for (const [args, sentence] of [
    [['--nope', '1'], `"--nope" is not a flag of adit server. ${help}`],
    [['--api-adr', 'x:1'], `"--api-adr" is not a flag of adit server. Did you mean --api-addr? ${help}`],
    [['stray'], `"stray" is not a flag of adit server. ${help}`],
    [['-x'], `"-x" is not a flag of adit server. ${help}`],
    [['--domain'], '--domain needs a value.'],
    [['--domain='], '--domain: a domain name is needed.'],
    [['--log-level', 'loud'], '--log-level must be error, warn, info or debug, not "loud".'],
    [['--domain', 'a.example', '--roles'], '--roles needs a value.'],
  ] as const)
    assert.throws(() => readSettings(args, {}), { message: sentence })
})

test('the last of two flags wins, and a value may begin with hyphens', () => {
  const settings = readSettings(['--acme-email', 'a@b', '--acme-email=--c@d', '--ssh-host-ca', '--x'], {})

  assert.equal(settings.acmeEmail, '--c@d')
  assert.equal(settings.sshHostCa, '--x')
})

test('the help names every flag with its variable', () => {
  const help = formatSettingsHelp()

  assert.match(help, /^ {2}--outbound-allow LIST {11}private addresses .*\n {34}ADIT_OUTBOUND_ALLOW$/m)
  assert.match(
    help,
    /^ {2}--api-addr HOST:PORT {12}management API and dashboard \(default 127\.0\.0\.1:4080\)$/m,
  )
})

test('a duration is a number with its unit, or 0', () => {
  const cooldown = (text: string) => readSettings(['--name-cooldown', text], {}).nameCooldown

  assert.equal(readSettings([], {}).nameCooldown, 86_400_000)
  assert.deepEqual(
    ['0', '90s', '15m', '24h', '7d'].map(cooldown),
    [0, 90_000, 900_000, 86_400_000, 604_800_000],
  )
  for (const wrong of ['24', '1w', '-1h', 'soon'])
    assert.throws(() => cooldown(wrong), /--name-cooldown must be a duration in s, m, h or d/)
})

test('the URL of the database may be in a file, and a password in a flag is warned of', async () => {
  const dir = createTempDir()
  const file = join(dir, 'database-url')
  const url = 'postgres://adit:hunter2@/adit?host=/run/postgresql'
  writeFileSync(file, `${url}\n`)

  assert.equal(readSettings(['--database-url-file', file], {}).databaseUrl, url)
  for (const [args, reason] of [
    [['--database-url-file', file, '--database-url', 'postgres://db/adit'], /set one of them/],
    [['--database-url-file', join(dir, 'missing')], /cannot be read/],
    [['--database-url', 'postgres://adit:hunter2@db:port/adit'], /--database-url cannot be read/],
  ] as const)
    assert.throws(
      () => readSettings(args, {}),
      ({ message }: Error) => reason.test(message) && !message.includes('hunter2'),
    )
  for (const args of [[`--database-url=${url}`], ['--database-url', url]])
    assert.match(warnOfPassword(args) ?? '', /ADIT_DATABASE_URL, or --database-url-file/)
  assert.equal(warnOfPassword(['--database-url', 'postgres://adit@db/adit']), undefined)
})
