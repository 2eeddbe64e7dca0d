import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startAgent } from '../support/agents.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { createTempDir } from '../support/temp-dir.ts'

const BYTES = 300_000
const TRIES = 40

/** It resolves no name below .localhost. */
const HOST = 'transfers.adit.localhost'

test('Java’s HTTP client, which does not count bytes, reports every response that breaks off', {
  skip: reasonToSkip('java'),
}, async (t) => {
  const service = await startHttp(t, ({ url }, response) => {
    const length = url!.startsWith('/declared') ? { 'Content-Length': BYTES } : {}
    response.writeHead(200, length)
    if (url!.endsWith('/whole')) response.end(Buffer.alloc(BYTES))
    else response.write(Buffer.alloc(BYTES / 2), () => response.socket?.destroy())
  })
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform)
  const { url } = await agent.forward({ addr: service, url: `https://${HOST}` })
  const { ca_file, https_url } = platform.credentials
  const dir = createTempDir()
  const [trusted, hosts] = [join(dir, 'trusted.p12'), join(dir, 'hosts')]
  writeFileSync(hosts, `127.0.0.1 ${HOST}\n`)
  const store = ['-keystore', trusted, '-storepass', 'changeit', '-alias', 'adit']
  execFileSync('keytool', ['-importcert', '-noprompt', '-file', ca_file, ...store], { stdio: 'ignore' })
  const request = async (path: string) => {
    const { stdout } = await promisify(execFile)('java', [
      `-Djavax.net.ssl.trustStore=${trusted}`,
      '-Djavax.net.ssl.trustStorePassword=changeit',
      `-Djdk.net.hosts.file=${hosts}`,
      join(import.meta.dirname, 'HttpClientTransfers.java'),
      `${new URL(url).origin.replace(/:\d+$/, '')}:${new URL(https_url).port}/${path}`,
      String(TRIES),
    ])
    return [...new Set(stdout.trim().split('\n'))]
  }

  for (const length of ['declared', 'unknown']) {
    assert.deepEqual(await request(`${length}/whole`), [`HTTP_2 200 ${BYTES}`])
    assert.deepEqual(await request(`${length}/cut`), ['broken off'])
  }
})
