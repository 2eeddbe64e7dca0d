import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type Harness, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { createRandom, type SeededRandom } from '../support/random.ts'

const TRANSFERS = 300
const CONCURRENCY = 10
const MAX_BYTES = 4 * 1024 * 1024
const HOST = 'transfers.adit.localhost'

interface Transfer {
  readonly uploadBytes: number
  readonly downloadBytes: number
  readonly chunked: boolean
  readonly aborts: boolean
}

interface Outcome {
  readonly broken: boolean
  readonly digest: string
  readonly uploadDigest: string | undefined
}

/** Random bytes; transfers are prefixes of it, so that a wrong length or offset changes the digest. */
const noise = createRandom(1).bytes(MAX_BYTES + 1)

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('300 HTTP transfers in both directions are byte-exact, and an aborted service never looks like a clean end', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const harness = await startHarness(t)
  const agent = harness.startAgent(['http', String(await startService(t)), `--url=http://${HOST}`])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))

  const transfers = Array.from({ length: TRANSFERS }, (_, index) => createTransfer(random, index))
  while (transfers.length > 0)
    await Promise.all(
      transfers.splice(0, CONCURRENCY).map(async (transfer) => {
        const outcome = await run(harness, transfer)
        const description = JSON.stringify(transfer)

        if (transfer.aborts) return assert.ok(outcome.broken, `ended as if complete: ${description}`)
        assert.ok(!outcome.broken, `broke: ${description}`)
        assert.equal(
          outcome.uploadDigest,
          digestOf(noise.subarray(0, transfer.uploadBytes)),
          `up: ${description}`,
        )
        assert.equal(
          outcome.digest,
          digestOf(noise.subarray(0, transfer.downloadBytes)),
          `down: ${description}`,
        )
      }),
    )
})

/** Draws sizes evenly on a logarithmic scale; the service aborts every tenth transfer. */
function createTransfer(random: SeededRandom, index: number): Transfer {
  const size = () => (index === 0 ? 0 : Math.min(MAX_BYTES, Math.floor(2 ** (random.below(2210) / 100))))
  return {
    uploadBytes: size(),
    downloadBytes: size(),
    chunked: random.below(2) === 1,
    aborts: index % 10 === 9,
  }
}

/** Starts a service that returns the digest of the upload and responds as the path describes. */
function startService(t: TestContext): Promise<number> {
  return startHttp(t, async (incoming, response) => {
    const { downloadBytes, chunked, aborts } = JSON.parse(
      decodeURIComponent(incoming.url!.slice(1)),
    ) as Transfer
    const hash = createHash('sha256')
    for await (const chunk of incoming) hash.update(chunk)
    response.setHeader('X-Arrived', hash.digest('hex'))
    if (!chunked) response.setHeader('Content-Length', downloadBytes)
    if (!aborts) return response.end(noise.subarray(0, downloadBytes))
    response.flushHeaders()
    response.write(noise.subarray(0, downloadBytes >> 1), () => response.socket?.resetAndDestroy())
  })
}

async function run(harness: Harness, transfer: Transfer): Promise<Outcome> {
  const clientRequest = request({
    host: '127.0.0.1',
    port: harness.httpPort,
    method: 'POST',
    path: `/${encodeURIComponent(JSON.stringify(transfer))}`,
    headers: { Host: `${HOST}:${harness.httpPort}` },
  })
  clientRequest.on('error', () => {})
  clientRequest.end(noise.subarray(0, transfer.uploadBytes))
  const hash = createHash('sha256')
  try {
    const [response] = await once(clientRequest, 'response')
    for await (const chunk of response) hash.update(chunk)
    const uploadDigest = response.headers['x-arrived']
    return { broken: response.statusCode !== 200, digest: hash.digest('hex'), uploadDigest }
  } catch {
    return { broken: true, digest: '', uploadDigest: undefined }
  }
}
