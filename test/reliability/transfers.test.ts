import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createRandom, type Random } from '../support/random.ts'
import { startLocal, startWorld, type World } from './harness.ts'

const TRANSFERS = 300
const AT_ONCE = 10
const MOST = 4 * 1024 * 1024
const HOST = 'transfers.adit.localhost'

interface Transfer {
  readonly up: number
  readonly down: number
  readonly chunked: boolean
  readonly dies: boolean
}

interface Outcome {
  readonly broke: boolean
  readonly digest: string
  readonly echoed: string | undefined
}

/** One block of noise; a transfer is a piece of it, so that any two lengths or places differ. */
const noise = createRandom(1).bytes(MOST + 1)

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('300 HTTP transfers both ways are byte-exact, and a service that dies is never a clean end', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const world = await startWorld(t)
  const agent = world.startAgent(['http', String(await startService(t)), `--url=http://${HOST}`])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))

  const transfers = Array.from({ length: TRANSFERS }, (_, index) => draw(random, index))
  while (transfers.length > 0)
    await Promise.all(
      transfers.splice(0, AT_ONCE).map(async (transfer) => {
        const outcome = await run(world, transfer)
        const what = JSON.stringify(transfer)

        if (transfer.dies) return assert.ok(outcome.broke, `ended as if complete: ${what}`)
        assert.ok(!outcome.broke, `broke: ${what}`)
        assert.equal(outcome.echoed, digestOf(noise.subarray(0, transfer.up)), `up: ${what}`)
        assert.equal(outcome.digest, digestOf(noise.subarray(0, transfer.down)), `down: ${what}`)
      }),
    )
})

/** As many small as large ones; every tenth dies. */
function draw(random: Random, index: number): Transfer {
  const size = () => (index === 0 ? 0 : Math.min(MOST, Math.floor(2 ** (random.below(2210) / 100))))
  return { up: size(), down: size(), chunked: random.below(2) === 1, dies: index % 10 === 9 }
}

/** Takes the upload, says what arrived, and answers as it is told in the path. */
function startService(t: TestContext): Promise<number> {
  return startLocal(t, async (incoming, response) => {
    const { down, chunked, dies } = JSON.parse(decodeURIComponent(incoming.url!.slice(1))) as Transfer
    const hash = createHash('sha256')
    for await (const piece of incoming) hash.update(piece)
    response.setHeader('X-Arrived', hash.digest('hex'))
    if (!chunked) response.setHeader('Content-Length', down)
    if (!dies) return response.end(noise.subarray(0, down))
    response.flushHeaders()
    response.write(noise.subarray(0, down >> 1), () => response.socket?.resetAndDestroy())
  })
}

async function run(world: World, transfer: Transfer): Promise<Outcome> {
  const asked = request({
    host: '127.0.0.1',
    port: world.httpPort,
    method: 'POST',
    path: `/${encodeURIComponent(JSON.stringify(transfer))}`,
    headers: { Host: `${HOST}:${world.httpPort}` },
  })
  asked.on('error', () => {})
  asked.end(noise.subarray(0, transfer.up))
  const hash = createHash('sha256')
  try {
    const [response] = await once(asked, 'response')
    for await (const piece of response) hash.update(piece)
    const echoed = response.headers['x-arrived']
    return { broke: response.statusCode !== 200, digest: hash.digest('hex'), echoed }
  } catch {
    return { broke: true, digest: '', echoed: undefined }
  }
}
