import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { listen } from '../support/local-server.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { installPython2 } from './installs.ts'
import { assertSameUse } from './same-use.ts'

/** Echoes the messages of WebSockets. */
function serveEcho(t: TestContext): Promise<number> {
  const server = createServer()
  // Without limits of its own on messages: some cases send 16 MiB, or 131,072 fragments.
  const webSockets = new WebSocketServer({
    server,
    perMessageDeflate: true,
    maxPayload: 0,
    maxFragments: 0,
  })
  webSockets.on('connection', (webSocket) => {
    webSocket.on('error', () => {})
    webSocket.on('message', (data, binary) => webSocket.send(data, { binary }))
  })
  return listen(t, server)
}

interface Verdict {
  readonly behavior: string
  readonly behaviorClose: string
  readonly remoteCloseCode: number | null
}

test('WebSocket: every case of the Autobahn test suite gets the same verdict (P29)', {
  skip: missingPrograms('python2.7'),
}, async (t) => {
  const suite = await installPython2(t, 'autobahntestsuite==0.8.2')
  if (suite === undefined) return
  const seen = await assertSameUse(
    t,
    () => serveEcho(t),
    async ({ url, dir, run }) => {
      const specification = {
        outdir: join(dir, 'reports'),
        servers: [{ agent: 'echo', url: url.replace(/^http/, 'ws') }],
        cases: ['*'],
        // Those of compression, which client and service agree on: a quarter of an hour of Python.
        'exclude-cases': ['12.*', '13.*'],
        'exclude-agent-cases': {},
      }
      writeFileSync(join(dir, 'specification.json'), JSON.stringify(specification))
      await run([join(suite.bin, 'wstest'), '-m', 'fuzzingclient', '-s', 'specification.json'], suite.env)
      const { echo } = JSON.parse(readFileSync(join(dir, 'reports', 'index.json'), 'utf8')) as {
        echo: Record<string, Verdict>
      }
      return Object.fromEntries(
        Object.entries(echo).map(([name, { behavior, behaviorClose, remoteCloseCode }]) => [
          name,
          `${behavior} ${behaviorClose} ${remoteCloseCode}`,
        ]),
      )
    },
    // Its client names no host in the TLS handshake.
    { url: 'http://app.adit.localhost' },
  )
  if (seen === undefined) return

  const failed = Object.entries(seen).filter(([, verdict]) => verdict.includes('FAILED'))
  assert.deepEqual(failed, [])
  assert.ok(Object.keys(seen).length > 300, `only ${Object.keys(seen).length} cases`)
})
