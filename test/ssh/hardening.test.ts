import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import ssh2, { type ClientChannel } from 'ssh2'
import { eventually, TIMEOUT_MS } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { eventuallyStatus, startPlatform, type TestPlatform } from '../support/platform.ts'
import { createRandom } from '../support/random.ts'
import { createTempDir } from '../support/temp-dir.ts'
import {
  connectSsh2Client,
  createIdentity,
  type Identity,
  openSshSkipReason,
  readUrl,
  scanHostKeys,
  sshArgs,
  startSsh,
} from './openssh.ts'

const skip = openSshSkipReason
const { Client: SshClient } = ssh2
const run = promisify(execFile)

/** The result of running `ssh`. */
interface SshResult {
  status: number
  output: string
}

async function ssh(
  platform: TestPlatform,
  identity: Pick<Identity, 'keyFile'>,
  flags: readonly string[],
  command: readonly string[] = [],
): Promise<SshResult> {
  try {
    const args = [...flags, ...sshArgs(platform, identity), ...command]
    const { stdout, stderr } = await run('ssh', args, { timeout: TIMEOUT_MS })
    return { status: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { status: code, output: stdout + stderr }
  }
}

async function createUnknownKey(): Promise<{ keyFile: string }> {
  const keyFile = join(createTempDir(), 'stranger')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile])
  return { keyFile }
}

test('forbidden requests are rejected, with a reason or by closing the channel', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const folder = createTempDir()
  const R80 = ['-R', '80:127.0.0.1:9']
  const cases: [title: string, flags: string[], command: string[], expected: RegExp][] = [
    ['a command', [], ['ls', '-l'], /"ls" cannot be run/],
    ['a command with a forward', R80, ['id'], /"id" cannot be run/],
    ['a command behind a known word', [], ['http', ';', 'id'], /one word too many|cannot/],
    ['an unknown option', R80, ['http', '--exec=id'], /Unknown option '--exec'/],
    ['a shell with nothing to forward', [], [], /Nothing to forward/],
    ['a shell in a terminal', ['-tt'], [], /Nothing to forward/],
    ['the sftp subsystem', ['-s'], ['sftp'], /subsystem request failed/],
    ['another subsystem', ['-s'], ['netconf'], /subsystem request failed/],
    ['stdio forwarding to a host', ['-W', '127.0.0.1:22'], [], /administratively prohibited|open failed/],
    ['stdio forwarding to the API', ['-W', '127.0.0.1:4080'], [], /administratively prohibited|open failed/],
    [
      'a remote unix socket',
      ['-o', 'ExitOnForwardFailure=yes', '-R', `${folder}/s:127.0.0.1:9`],
      [],
      /failed/,
    ],
    [
      'another privileged port',
      ['-o', 'ExitOnForwardFailure=yes', '-R', '22:127.0.0.1:9'],
      [],
      /forwarding failed/,
    ],
    [
      'a remote SOCKS proxy on a port',
      ['-o', 'ExitOnForwardFailure=yes', '-R', '1080'],
      [],
      /forwarding failed/,
    ],
    ['a name with a forbidden character', ['-R', 'a_b!:80:127.0.0.1:9'], ['http'], /was rejected/],
    [
      'the name of the platform itself',
      ['-R', 'idp:80:127.0.0.1:9'],
      ['http'],
      /was rejected: .*platform itself/,
    ],
  ]

  for (const [title, flags, command, expected] of cases) {
    const { status, output } = await ssh(platform, identity, flags, command)

    assert.match(output, expected, title)
    assert.notEqual(status, 0, title)
  }
  assert.deepEqual((await platform.call('GET', '/tunnels')).body.tunnels, [])
})

test('local forwards, environment and agent forwarding are denied, and the tunnel keeps working', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const port = await startHttp(t, (_request, response) => response.end('still here'))
  const folder = createTempDir()
  const toHost = join(folder, 'host.sock')
  const toSocket = join(folder, 'socket.sock')

  const client = startSsh(
    t,
    platform,
    identity,
    [
      ...[
        '-A',
        '-o',
        'SetEnv=SECRET=1',
        '-L',
        `${toHost}:127.0.0.1:${port}`,
        '-L',
        `${toSocket}:/run/x.sock`,
      ],
      ...['-R', `80:127.0.0.1:${port}`],
    ],
    ['http'],
  )
  const url = await readUrl(client)
  for (const path of [toHost, toSocket]) {
    const socket = connect(path)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.0\r\n\r\n')
    await new Promise((resolve) => socket.once('close', resolve))
    assert.equal(Buffer.concat(chunks).length, 0)
  }

  // With two nodes, that of the visitors may still have to find the other.
  await eventuallyStatus(platform, url, 200)
  assert.equal(await (await platform.fetch(url)).text(), 'still here')
  assert.match(client.output(), /open failed: (administratively prohibited|.*prohibited)/)
})

test('forbidden requests of another client library are rejected as well', async (t) => {
  const platform = await startPlatform(t)
  const client = await connectSsh2Client(t, platform)

  const results: Record<string, unknown> = {
    shellWithX11: await runRequest((done) => client.shell({}, { x11: true }, done)),
    environment: await runRequest((done) => client.exec('rm -rf /', { env: { A: '1' } }, done)),
    subsystem: await runRequest((done) => client.subsys('sftp', done)),
    sftp: await runRequest((done) => client.sftp(done as never)),
    directTcp: await runRequest((done) => client.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, done)),
    directSocket: await runRequest((done) => client.openssh_forwardOutStreamLocal('/run/x', done)),
    remoteSocket: await runRequest((done) => client.openssh_forwardInStreamLocal('/run/x', done as never)),
    unforward: await runRequest((done) => client.unforwardIn('localhost', 80, done as never)),
  }

  for (const [title, result] of Object.entries(results))
    if (title === 'environment') assert.equal(result, 'exit 1', title)
    else assert.ok(result instanceof Error, `${title}: ${String(result)}`)
})

test('password, keyboard-interactive and none authentication are rejected', async (t) => {
  const platform = await startPlatform(t)
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')

  for (const method of ['password', 'keyboard-interactive', 'none'] as const) {
    const client = new SshClient()
    client.on('keyboard-interactive', (_n, _i, _l, _p, finish) => finish(['']))
    const result = new Promise<string>((resolve) => {
      client.on('ready', () => resolve('in')).on('error', (error) => resolve(error.message))
    })
    client.connect({
      host,
      port: Number(port),
      username: 'root',
      authHandler: [{ type: method, username: 'root', password: 'root' }] as never,
    })
    assert.match(await result, /All configured authentication methods failed/, method)
    client.destroy()
  }
})

test('a connection is closed after six failed login attempts', async (t) => {
  const platform = await startPlatform(t)
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  let attempts = 0
  const client = new SshClient()
  const closed = new Promise<void>((resolve) => client.on('close', resolve))
  client.on('error', () => {})

  client.connect({
    host,
    port: Number(port),
    username: 'root',
    authHandler: ((_remaining: unknown, _partial: unknown, next: (method: unknown) => void) => {
      attempts++
      next({ type: 'password', username: 'root', password: String(attempts) })
    }) as never,
  })
  await closed

  assert.equal(attempts, 6)
})

test('only strong algorithms are offered, with strict key exchange', async (t) => {
  const platform = await startPlatform(t)
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  const socket = connect(Number(port), host)
  t.after(() => socket.destroy())
  socket.write('SSH-2.0-scan\r\n')

  const lists = await readKexLists(socket)

  const all = lists.flat()
  assert.deepEqual(
    all.filter(
      (name) =>
        !/^(curve25519-sha256(@libssh\.org)?|ecdh-sha2-nistp\d+|kex-strict-s-v00@openssh\.com|ssh-ed25519|ecdsa-sha2-nistp256|aes\d+-gcm@openssh\.com|aes\d+-ctr|hmac-sha2-\d+-etm@openssh\.com|none)$/.test(
          name,
        ),
    ),
    [],
  )
  assert.ok(all.includes('kex-strict-s-v00@openssh.com'))
  assert.ok(all.includes('aes128-ctr'), 'a client that does not say what it knows is offered everything')
})

test('OpenSSH negotiates AES-GCM, and clients limited to AES-CTR get AES-CTR', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const cases: [flags: string[], cipher: string][] = [
    [[], 'aes128-gcm@openssh.com'],
    [['-c', 'aes256-ctr,aes256-gcm@openssh.com'], 'aes256-gcm@openssh.com'],
    [['-c', 'aes256-ctr'], 'aes256-ctr'],
  ]

  for (const [flags, cipher] of cases) {
    const { output } = await ssh(platform, identity, ['-v', ...flags], ['id'])

    const negotiated = [...output.matchAll(/kex: \S+ cipher: (\S+)/g)].map(([, name]) => name)
    assert.deepEqual(negotiated, [cipher, cipher])
    assert.match(output, /"id" cannot be run/)
  }
})

test('keys of every supported type can log in, and unknown keys cannot', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const types = [
    ['-t', 'ed25519'],
    ['-t', 'rsa', '-b', '2048'],
    ['-t', 'ecdsa', '-b', '256'],
    ['-t', 'ecdsa', '-b', '384'],
    ['-t', 'ecdsa', '-b', '521'],
  ]

  for (const type of types) {
    const identity = await createIdentity(platform, { type })
    const { output } = await ssh(platform, identity, [])
    assert.match(output, /Nothing to forward/, type.join(' '))
  }
  const { status, output } = await ssh(platform, await createUnknownKey(), [])

  assert.equal(status, 255)
  assert.match(output, /Permission denied \(publickey\)/)
})

test('an RSA key that signs with SHA-1 is rejected', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform, { type: ['-t', 'rsa', '-b', '2048'] })

  const { output } = await ssh(platform, identity, ['-o', 'PubkeyAcceptedAlgorithms=ssh-rsa'])

  assert.match(output, /Permission denied|no mutual signature/)
})

test('a client address with repeated failures is rejected before it can authenticate', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const unknownKey = await createUnknownKey()
  const bindAddress = ['-o', 'BindAddress=127.0.0.7']

  const failures = await Promise.all([1, 2, 3, 4].map(() => ssh(platform, unknownKey, bindAddress)))
  const blockedResult = await ssh(platform, identity, bindAddress)
  const otherResult = await ssh(platform, identity, ['-o', 'BindAddress=127.0.0.8'])

  assert.ok(failures.every(({ output }) => /Permission denied/.test(output)))
  assert.doesNotMatch(blockedResult.output, /Nothing to forward/)
  assert.match(otherResult.output, /Nothing to forward/)
})

test('an eleventh unauthenticated connection of one client address is rejected', async (t) => {
  const platform = await startPlatform(t)
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  const dial = (localAddress: string) => {
    const socket = connect({ host, port: Number(port), localAddress })
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    return socket
  }
  const connections = Array.from({ length: 10 }, () => dial('127.0.0.9'))
  await Promise.all(connections.map((socket) => once(socket, 'data')))

  // Workers tell each other a moment later.
  await eventually(async () => {
    const eleventh = dial('127.0.0.9')
    const event = await Promise.race(
      ['close', 'data'].map((name) => new Promise((resolve) => eleventh.once(name, () => resolve(name)))),
    )
    eleventh.destroy()
    return event === 'close'
  }, 'the eleventh connection is rejected')
  const other = await once(dial('127.0.0.10'), 'data')

  assert.match(String(other[0]), /^SSH-2\.0-Adit\r\n/)
})

test("the account's IP restrictions for agents apply to SSH clients", { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const policy = await platform.call.create('/ip_policies', {})
  await platform.call.create('/ip_policy_rules', {
    cidr: '127.0.0.5/32',
    action: 'allow',
    ip_policy_id: policy.id,
  })
  await platform.call.create('/ip_restrictions', {
    type: 'agent',
    enforced: true,
    ip_policy_ids: [policy.id],
  })

  const allowed = await ssh(platform, identity, ['-o', 'BindAddress=127.0.0.5'])
  const denied = await ssh(platform, identity, ['-o', 'BindAddress=127.0.0.6'])

  assert.match(allowed.output, /Nothing to forward/)
  assert.match(denied.output, /Permission denied/)
})

test('an eleventh forward is rejected, with the reason on the terminal', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const flags = Array.from({ length: 11 }, (_, n) => ['-R', `0:127.0.0.1:${n + 9}`]).flat()

  const client = startSsh(t, platform, identity, flags)
  await client.waitForOutput(/was rejected: A connection may have 10 forwards/)

  assert.equal((await platform.call('GET', '/tunnels')).body.tunnels.length, 10)
})

test('bind ACL rules apply to each forward', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform, { acl: ['bind:good.adit.localhost', 'bind:app=web'] })

  const client = startSsh(t, platform, identity, [
    ...[
      '-R',
      'good:80:127.0.0.1:9',
      '-R',
      'bad:80:127.0.0.1:9',
      '-R',
      '80:127.0.0.1:9',
      '-R',
      '0:127.0.0.1:9',
    ],
  ])
  await client.waitForOutput(/(was rejected.*){3}/s)
  const labels = await ssh(platform, identity, ['-R', '80:127.0.0.1:9'], ['http', '--label', 'app=other'])

  assert.match(client.output(), /http:\/\/good\.adit\.localhost/)
  assert.match(client.output(), /-R bad:80 was rejected: The credential's ACL does not allow the name/)
  assert.match(labels.output, /ACL does not allow the label app=other/)
  assert.equal((await platform.call('GET', '/tunnels')).body.tunnels.length, 1)
})

test('malformed packets neither crash the process nor affect other clients', { skip }, async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const port = await startHttp(t, (_request, response) => response.end('alive'))
  const client = startSsh(t, platform, identity, ['-R', `80:127.0.0.1:${port}`])
  const url = await readUrl(client)
  const [host = '', sshPort = ''] = platform.credentials.ssh_addr.split(':')

  for (let round = 0; round < 100; round++) {
    const socket = connect(Number(sshPort), host)
    socket.on('error', () => {})
    await once(socket, 'connect')
    const size = random.below(2000)
    const parts = ['SSH-2.0-fuzz\r\n', 'GET / HTTP/1.1\r\n', '', 'SSH-1.5-old\r\n', 'SSH-2.0-\r\n']
    socket.write(parts[round % parts.length]!)
    const packet = random.bytes(size + 16)
    // Half of the packets have a plausible length, so that they get past the first check.
    if (round % 2 === 0) {
      packet.writeUInt32BE(size + 12)
      packet[4] = 4
      packet[5] = round % 256
    }
    socket.end(packet)
    socket.resume()
    await once(socket, 'close')
  }

  // With two nodes, that of the visitors may still have to find the other.
  await eventuallyStatus(platform, url, 200)
  assert.equal(await (await platform.fetch(url)).text(), 'alive')
})

test('ssh-keyscan sees the same keys after a restart', { skip }, async (t) => {
  const dataDir = createTempDir()
  const first = await startPlatform(t, ['--data-dir', dataDir])
  const before = await scanHostKeys(first)
  const { ssh_addr } = first.credentials
  await first.stop()

  const second = await startPlatform(t, ['--data-dir', dataDir, '--ssh-addr', ssh_addr])
  const after = await scanHostKeys(second)

  assert.equal(before.length, 2)
  assert.deepEqual(after, before)
})

/** Resolves with the error of a request, or with the exit status of the command it started. */
function runRequest(start: (done: (error: Error | undefined, stream: ClientChannel) => void) => void) {
  return new Promise<unknown>((resolve) => {
    try {
      start((error, stream) => {
        if (error !== undefined && error !== null) resolve(error)
        else if (stream === undefined) resolve('accepted')
        else stream.on('exit', (status) => resolve(`exit ${status}`)).resume()
      })
    } catch (error) {
      resolve(error)
    }
  })
}

/** Reads the name lists of the server's KEXINIT (RFC 4253 section 7.1). */
async function readKexLists(socket: ReturnType<typeof connect>): Promise<string[][]> {
  let bytes = Buffer.alloc(0)
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk as Buffer])
    const start = bytes.indexOf('\r\n') + 2
    if (start < 2 || bytes.length < start + 4 || bytes.length < start + 4 + bytes.readUInt32BE(start))
      continue
    const lists: string[][] = []
    for (let offset = start + 5 + 1 + 16; lists.length < 8; ) {
      const length = bytes.readUInt32BE(offset)
      lists.push(
        bytes
          .subarray(offset + 4, offset + 4 + length)
          .toString()
          .split(','),
      )
      offset += 4 + length
    }
    return lists
  }
  throw new Error('the server said nothing')
}
