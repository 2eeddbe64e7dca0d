import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestCertificates } from '../../src/edge/testing/certificates.ts'
import { installGo } from '../apps/installs.ts'
import { portOf, startAgent } from '../support/agents.ts'
import { listen, startHttp } from '../support/local-server.ts'
import { createMountNamespace, type MountNamespace } from '../support/mount-namespace.ts'
import { startPlatform } from '../support/platform.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { run } from '../support/run.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'app.adit.localhost'
const VERSION = 'v2.2.1+incompatible'

/** The cases of the suite that a server on this port fails, with their sections of RFC 7540. */
function createCheck(t: TestContext, program: string, namespace: MountNamespace) {
  return async (port: number): Promise<string[]> => {
    const command = [program, '--tls', '--insecure', '--strict', '--host', HOST, '--port', String(port)]
    const { stdout } = await run(namespace.wrap(command), { PATH: process.env.PATH ?? '' })
    const [total = ''] = /^\d+ tests, .*$/m.exec(stdout) ?? []
    assert.match(total, /^1\d\d tests/, stdout)
    t.diagnostic(total)
    let section = ''
    const failures: string[] = []
    for (const line of (stdout.split('Failures:')[1] ?? '').split('\n')) {
      section = /^ +([\d.]+)\. /.exec(line)?.[1] ?? section
      const [, title] = /^ +× (.*)$/.exec(line) ?? []
      if (title !== undefined) failures.push(`${section} ${title}`)
    }
    return failures
  }
}

function respond(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) {
  request.resume()
  // Some cases need a body that fills a window.
  request.on('end', () => response.end('x'.repeat(20_000)))
}

test('h2spec finds no deviation in the edge that Node’s own HTTP/2 server does not have (P23)', {
  skip: missingPrograms('go', 'unshare'),
}, async (t) => {
  const program = await installGo(t, 'github.com/summerwind/h2spec', VERSION, 'cmd/h2spec')
  if (program === undefined) return
  const hosts = join(createTempDir(), 'hosts')
  writeFileSync(hosts, `127.0.0.1 localhost ${HOST}\n`)
  const namespace = await createMountNamespace(t, { files: { '/etc/hosts': hosts } })
  if (namespace === undefined) return t.skip('the kernel allows no mount namespaces')
  const check = createCheck(t, program, namespace)
  const certificate = await (await createTestCertificates(HOST)).issue(HOST)
  const unproxied = createSecureServer(
    { key: certificate.privateKeyPem.reveal(), cert: certificate.certificatePem },
    respond,
  )
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  await agent.forward({ addr: await startHttp(t, respond), url: `https://${HOST}` })

  const expected = await check(await listen(t, unproxied))
  const found = await check(portOf(new URL(platform.credentials.https_url).host))

  assert.deepEqual(
    found.filter((failure) => !expected.includes(failure)),
    [],
  )
})
