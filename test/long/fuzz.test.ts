import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const SECONDS = process.env.FUZZ_SECONDS ?? '60'
const root = join(import.meta.dirname, '..', '..')

/** Every parser of untrusted bytes with the tests that fuzz it (by name pattern); each test runs for FUZZ_SECONDS. */
const PARSERS: Readonly<Record<string, { file: string; tests: string }>> = {
  'tunnel frames, messages and PROXY headers': { file: 'src/protocol/fuzz.test.ts', tests: 'damaged' },
  'HTTP/1 heads, chunks, HTTP/2 heads and ClientHello': {
    file: 'src/edge/message/parser-fuzz.test.ts',
    tests: 'damaged',
  },
  'HTTP/1 requests against other parsers': {
    file: 'src/edge/message/differential.test.ts',
    tests: 'mutations',
  },
  'HTTP/1 responses of upstreams': {
    file: 'src/edge/upstream/response-fuzz.test.ts',
    tests: 'whatever an upstream',
  },
  'HTTP/1 in the agent': { file: 'src/agent/http1.test.ts', tests: 'whatever comes' },
  'DNS messages': { file: 'src/dns/server.test.ts', tests: 'damaged' },
  'the PROXY header in the agent': { file: 'src/agent/forward/preamble.test.ts', tests: 'whatever comes' },
  'SSH command lines': { file: 'src/sessions/ssh/command-line-fuzz.test.ts', tests: 'damaged' },
  'SSH messages': { file: 'test/ssh/fuzz.test.ts', tests: '.' },
  'SSH keys': { file: 'src/certs/ssh/public-key.test.ts', tests: 'damaged' },
  'agent configuration in YAML': { file: 'src/agent/config/file.test.ts', tests: 'mangled' },
  'X.509': { file: 'src/certs/x509/x509.test.ts', tests: 'damaged' },
  'SAML messages and metadata': { file: 'src/edge/login/xml-fuzz.test.ts', tests: 'damaged' },
  cookies: { file: 'src/dashboard/cookie.test.ts', tests: 'random headers' },
  'WebSocket frames': { file: 'src/agent/inspector/websocket-scanner.test.ts', tests: 'no frames' },
}

for (const [parser, { file, tests }] of Object.entries(PARSERS))
  test(`${parser}: ${SECONDS} s of damaged input for each test do no harm (P58)`, async (t) => {
    const child = spawn(
      process.execPath,
      ['--test', '--test-reporter=spec', `--test-name-pattern=${tests}`, file],
      // Otherwise the child detects the parent test runner and reports in its internal format.
      { cwd: root, env: { ...process.env, FUZZ_SECONDS: SECONDS, NODE_TEST_CONTEXT: undefined } },
    )
    const [[code], output] = await Promise.all([once(child, 'exit'), text(child.stdout)])

    for (const [, seed] of output.matchAll(/seed[ =](\d+)/gi)) t.diagnostic(`SEED=${seed}`)
    assert.equal(code, 0, output)
    assert.match(output, /pass [1-9]/)
  })
