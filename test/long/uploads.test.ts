import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { connect } from 'node:http2'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { peakMiB, residentMiB } from '../support/process-memory.ts'

const MEBIBYTES = Number(process.env.LONG_UPLOAD_MIB ?? 1024)
const MIB = 1024 * 1024
const HOST = 'upload.adit.localhost'
/** What a side may grow by: windows, buffers and garbage, but no body. */
const MAX_GROWTH_MIB = 128

/** Different bytes in each block, so that one that is lost, repeated or in another place shows. */
function* generateBlocks() {
  const block = Buffer.alloc(MIB, 'upload')
  for (let number = 0; number < MEBIBYTES; number++) {
    const next = Buffer.from(block)
    next.writeUInt32BE(number, MIB / 2)
    yield next
  }
}

type Send = (port: number) => Promise<string>

/** Sends the blocks as a body and returns the body of the response. */
const uploads: Readonly<Record<string, Send>> = {
  'HTTP/1.1 with a length': (port) => sendHttp1(port, { 'Content-Length': String(MEBIBYTES * MIB) }),
  'HTTP/1.1 in chunks': (port) => sendHttp1(port, {}),
  async 'HTTP/2'(port) {
    const session = connect(`http://${HOST}:${port}`, { host: '127.0.0.1' })
    const stream = session.request({ ':method': 'PUT', ':path': '/' })
    const [response] = await Promise.all([text(stream), pipeline(Readable.from(generateBlocks()), stream)])
    session.close()
    return response
  },
}

async function sendHttp1(port: number, headers: Record<string, string>): Promise<string> {
  const request = requestHttp({ port, method: 'PUT', headers: { Host: `${HOST}:${port}`, ...headers } })
  const response = new Promise<string>((resolve, reject) => {
    request.on('response', (incoming) => resolve(text(incoming))).on('error', reject)
  })
  await pipeline(Readable.from(generateBlocks()), request)
  return response
}

for (const [protocol, send] of Object.entries(uploads))
  test(`an upload of ${MEBIBYTES} MiB over ${protocol} arrives unchanged and is held in no memory (P21)`, async (t) => {
    const harness = await startHarness(t)
    const service = await startHttp(t, async (request, response) => {
      const hash = createHash('sha256')
      for await (const chunk of request) hash.update(chunk)
      response.end(hash.digest('hex'))
    })
    const agent = harness.startAgent(['http', String(service), `--url=http://${HOST}`])
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
    const pids = { server: harness.server.child.pid!, agent: agent.child.pid! }
    const before = { server: await residentMiB(pids.server), agent: await residentMiB(pids.agent) }
    const expected = createHash('sha256')
    for (const block of generateBlocks()) expected.update(block)

    const received = await send(harness.httpPort)

    assert.equal(received, expected.digest('hex'))
    for (const side of ['server', 'agent'] as const) {
      const growthMiB = (await peakMiB(pids[side])) - before[side]
      t.diagnostic(`${side}: ${before[side].toFixed(0)} MiB, and up to ${growthMiB.toFixed(0)} MiB more`)
      assert.ok(growthMiB <= MAX_GROWTH_MIB, `${side} has grown by ${growthMiB} MiB`)
    }
  })
