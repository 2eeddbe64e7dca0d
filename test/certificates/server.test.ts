import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { promisify } from 'node:util'
import { connect } from '../../src/agent/index.ts'
import { startServer } from '../../src/server/index.ts'
import { readSettings } from '../../src/server/settings/settings.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { startBind } from '../support/dns-providers/bind.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startHttp } from '../support/local-server.ts'
import { startPebble } from '../support/pebble.ts'
import { createTempDir } from '../support/temp-dir.ts'

const run = promisify(execFile)

/** Starts the server with its own DNS and HTTP listeners as the ones a real authority validates against. */
async function startServerWithPebble(
  t: TestContext,
  options: { dnsPort?: number; flags?: (dir: string) => Promise<Record<string, string>> } = {},
) {
  const dnsPort = options.dnsPort ?? (await findFreePorts(1))
  const httpPort = await findFreePorts(1)
  const pebble = await startPebble(t, { dnsPort, httpPort })
  const dir = createTempDir()
  await writeFile(join(dir, 'acme-ca.pem'), pebble.ca)
  await writeFile(join(dir, 'root.pem'), await pebble.root())
  const flags = {
    'data-dir': join(dir, 'data'),
    domain: 'adit.test',
    'api-addr': '127.0.0.1:0',
    'http-addr': `127.0.0.1:${httpPort}`,
    'https-addr': '127.0.0.1:0',
    'agent-addr': '127.0.0.1:0',
    'ssh-addr': 'false',
    'dns-addr': `127.0.0.1:${dnsPort}`,
    'dns-resolver': `127.0.0.1:${dnsPort}`,
    'acme-directory': pebble.directory,
    'acme-ca': join(dir, 'acme-ca.pem'),
    'acme-email': 'operator@adit.test',
    'outbound-allow': 'localhost,127.0.0.1',
    'log-level': process.env.TEST_LOG ?? 'silent',
    ...(await options.flags?.(dir)),
  }
  const server = await startServer(
    readSettings(
      Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      {},
    ),
  )
  t.after(() => server.stop())
  return { server, pebble, rootFile: join(dir, 'root.pem') }
}

test('curl, openssl and agents accept the certificates of the server with only the ACME directory configured', async (t) => {
  const { server, rootFile } = await startServerWithPebble(t)
  const { api_url, api_key, https_url, agent_addr, public_agent_addr } = server.credentials
  const { port } = new URL(https_url!)
  const createResponse = await fetch(`${api_url}/reserved_domains`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ domain: 'api.team.adit.test' }),
  })
  assert.equal(createResponse.status, 201)

  // The wildcard is validated over DNS, the name two labels down over HTTP through the edge itself.
  for (const name of ['adit.test', 'any.adit.test', 'api.team.adit.test'])
    await eventually(async () => {
      const curlFlags = ['--cacert', rootFile, '--resolve', `${name}:${port}:127.0.0.1`]
      return run('curl', ['-sS', '-o', '/dev/null', ...curlFlags, `https://${name}:${port}/`]).then(
        () => true,
        () => false,
      )
    }, `curl accepts ${name}`)
  const openssl = run('openssl', [
    's_client',
    ...['-connect', `127.0.0.1:${port}`, '-servername', 'api.team.adit.test', '-CAfile', rootFile],
    ...['-verify_return_error', '-verify_hostname', 'api.team.adit.test'],
  ])
  // At end of input openssl closes the connection, after it has verified the certificate.
  openssl.child.stdin?.end()
  const result = await openssl

  assert.match(result.stdout, /Verify return code: 0 \(ok\)/)
  const agentPort = Number(agent_addr!.split(':')[1])
  assert.equal(public_agent_addr, `connect.adit.test:${agentPort}`)
  for (const servername of ['connect.adit.test', 'adit.test', 'tunnel.adit.test']) {
    const socket = tlsConnect({ port: agentPort, servername, ca: await readFile(rootFile) })
    await once(socket, 'secureConnect')
    socket.destroy()
  }
})

test('with --dns-provider, curl accepts the name of a new tunnel without a name server of our own', async (t) => {
  const bind = await startBind(t, { zones: ['adit.test'] })
  const { server, rootFile } = await startServerWithPebble(t, {
    dnsPort: bind.port,
    flags: async (dir) => {
      const file = join(dir, 'dns.env')
      await writeFile(
        file,
        Object.entries(bind.variables)
          .map((entry) => entry.join('='))
          .join('\n'),
      )
      return { 'dns-addr': 'false', 'dns-provider': 'rfc2136', 'dns-credentials': file }
    },
  })
  const port = await startHttp(t, (_request, response) => response.end('from the service'))
  const { agent_addr, authtoken, ca_file } = server.credentials
  const agent = await connect({
    env: cleanEnv(createTempDir(), {}),
    connectUrl: agent_addr!,
    authtoken: authtoken!,
    rootCas: ca_file!,
  })
  t.after(() => agent.close())
  const { hostname } = new URL((await agent.forward(port)).url)
  const edgePort = new URL(server.credentials.https_url!).port

  const curlFlags = ['--cacert', rootFile, '--resolve', `${hostname}:${edgePort}:127.0.0.1`]
  const { stdout } = await eventually(
    () => run('curl', ['-sS', ...curlFlags, `https://${hostname}:${edgePort}/`]).catch(() => undefined),
    `curl accepts ${hostname}`,
  )

  assert.equal(stdout, 'from the service')
  const recordsLeft = async () => (await bind.values('_acme-challenge.adit.test')).length
  await eventually(async () => (await recordsLeft()) === 0, 'the challenge records are removed')
})
