import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { promisify } from 'node:util'
import { connect } from '../../src/agent/index.ts'
import { startServer } from '../../src/server/index.ts'
import { readSettings } from '../../src/server/settings/settings.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createTestCa, type TlsIdentity } from '../support/test-ca.ts'

const run = promisify(execFile)

async function startWithFiles(t: TestContext, identity: TlsIdentity) {
  const dir = createTempDir()
  const [cert, key] = [join(dir, 'tls.pem'), join(dir, 'tls.key')]
  /** Replaces each file as certificate tools do: written beside it, then renamed. */
  const install = async (next: TlsIdentity) => {
    for (const [file, text] of [[cert, next.cert] as const, [key, next.key] as const]) {
      await writeFile(`${file}.new`, text)
      await rename(`${file}.new`, file)
    }
  }
  await install(identity)
  const listeners = ['api', 'http', 'https', 'agent'].map((name) => `--${name}-addr=127.0.0.1:0`)
  const off = ['ssh', 'dns'].map((name) => `--${name}-addr=false`)
  const settings = [`--data-dir=${join(dir, 'data')}`, '--domain=adit.test', '--log-level=silent']
  const files = [`--tls-cert=${cert}`, `--tls-key=${key}`]
  const server = await startServer(readSettings([...listeners, ...off, ...settings, ...files], {}))
  t.after(() => server.stop())
  return { server, dir, install }
}

/** The serial number of the certificate that is served for a name. */
async function servedSerial(port: number, servername: string, ca: string): Promise<string> {
  const socket = tlsConnect({ host: '127.0.0.1', port, servername, ca })
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })
  const { serialNumber } = socket.getPeerCertificate()
  socket.end()
  return serialNumber
}

test('curl accepts the URL of a new tunnel and the dashboard with the certificate of --tls-cert', async (t) => {
  const ca = await createTestCa()
  const { server, dir } = await startWithFiles(t, await ca.issue('adit.test', '*.adit.test'))
  await writeFile(join(dir, 'root.pem'), ca.caPem)
  const local = await startHttp(t, (_request, response) => response.end('from the service'))
  const { agent_addr, authtoken, ca_file, https_url } = server.credentials
  const agent = await connect({
    env: cleanEnv(createTempDir(), {}),
    connectUrl: agent_addr!,
    authtoken: authtoken!,
    rootCas: ca_file!,
  })
  t.after(() => agent.close())
  const { hostname } = new URL((await agent.forward(local)).url)
  const { port } = new URL(https_url!)
  const curl = async (name: string, path = '/') => {
    const flags = ['-sS', '--cacert', join(dir, 'root.pem'), '--resolve', `${name}:${port}:127.0.0.1`]
    return (await run('curl', [...flags, `https://${name}:${port}${path}`])).stdout
  }

  assert.equal(await curl(hostname), 'from the service')
  assert.match(await curl('dashboard.adit.test', '/dashboard/'), /<script type="module"/)
  await curl('adit.test')
  await assert.rejects(curl('two.labels.adit.test'), /curl: \((?:35|60)\)/)
})

test('a renewed certificate is served without a restart', async (t) => {
  const ca = await createTestCa()
  const [first, second] = [await ca.issue('*.adit.test'), await ca.issue('*.adit.test')]
  const { server, install } = await startWithFiles(t, first)
  const port = Number(new URL(server.credentials.https_url!).port)
  const before = await servedSerial(port, 'any.adit.test', ca.caPem)

  await install(second)

  await eventually(
    async () => (await servedSerial(port, 'any.adit.test', ca.caPem)) !== before,
    'the renewed certificate is served',
  )
})

test('the server does not start with a certificate for other names, and says which', async (t) => {
  const ca = await createTestCa()

  await assert.rejects(
    startWithFiles(t, await ca.issue('*.other.test')),
    /is for \*\.other\.test\. It has to be/,
  )
})
