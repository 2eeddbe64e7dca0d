import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runTests } from '../support/run-tests.ts'

const SECONDS = process.env.FUZZ_SECONDS ?? '60'
const root = join(import.meta.dirname, '..', '..')

/** Every parser of untrusted bytes with the file that fuzzes it; each fuzz test runs for FUZZ_SECONDS. */
const PARSERS: Readonly<Record<string, string>> = {
  'tunnel frames, messages and PROXY headers': 'src/protocol/fuzz.test.ts',
  'HTTP/1 heads, chunks, HTTP/2 heads and ClientHello': 'src/edge/message/parser-fuzz.test.ts',
  'HTTP/1 requests against other parsers': 'src/edge/message/differential.test.ts',
  'HTTP/1 responses of upstreams': 'src/edge/upstream/response-fuzz.test.ts',
  'HTTP/1 in the agent': 'src/agent/http1.test.ts',
  'DNS messages': 'src/dns/server.test.ts',
  'the PROXY header in the agent': 'src/agent/forward/preamble.test.ts',
  'PROXY protocol headers of proxies in front': 'src/base/io/sockets/proxy-protocol.test.ts',
  'forwarding fields of proxies in front': 'src/base/http/forwarded.test.ts',
  'SSH command lines': 'src/sessions/ssh/command-line-fuzz.test.ts',
  'SSH messages': 'test/ssh/fuzz.test.ts',
  'SSH keys': 'src/certs/ssh/public-key.test.ts',
  'agent configuration in YAML': 'src/agent/config/file.test.ts',
  'X.509': 'src/certs/x509/x509.test.ts',
  'certificate requests': 'src/certs/x509/certificate-request.test.ts',
  'requests of Kubernetes clusters': 'src/edge/kubernetes/connection-messages.test.ts',
  'SAML messages and metadata': 'src/edge/login/saml/xml-fuzz.test.ts',
  'patterns of filters and policies': 'src/base/pattern/linear-pattern.test.ts',
  cookies: 'src/dashboard/sign-in/cookie.test.ts',
  'WebSocket frames': 'src/agent/inspector/websocket-scanner.test.ts',
}

test('every fuzz test is in the list', async () => {
  const fuzzing: string[] = []
  for await (const file of glob('{src,test}/**/*.test.ts', { cwd: root }))
    if (/\bof rounds\(/.test(await readFile(join(root, file), 'utf8'))) fuzzing.push(file)

  assert.deepEqual(fuzzing.sort(), Object.values(PARSERS).sort())
})

for (const [parser, file] of Object.entries(PARSERS))
  test(`${parser}: ${SECONDS} s of damaged input for each test do no harm (P58)`, async (t) => {
    const { code, output } = await runTests([file], { FUZZ_SECONDS: SECONDS })

    for (const [, seed] of output.matchAll(/seed[ =](\d+)/gi)) t.diagnostic(`SEED=${seed}`)
    assert.equal(code, 0, output)
    assert.match(output, /pass [1-9]/)
  })
