import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startLocal, startWorld, until, type World } from './world.ts'

const READERS = 200
const HOST = 'bulk.adit.localhost'
const MIB = 1024 * 1024
const NEIGHBOUR_BYTES = 32 * MIB
/** The server keeps the promised 64 MiB. The agent's allocator holds on to what the first burst took: 40 to 80 MiB. */
const MOST_MIB = { server: 64, agent: 128 }

test('200 visitors who never read cost a fixed amount, and a neighbour keeps its speed', async (t) => {
  const world = await startWorld(t)
  const block = Buffer.alloc(256 * 1024, 'x')
  let offered = 0
  // Offers without end, as fast as it is taken.
  const port = await startLocal(t, (_request, response) => {
    response.setHeader('Content-Length', 2 ** 40)
    const offer = () => {
      offered++
      response.write(block, (error) => error ?? offer())
    }
    offer()
  })
  const agent = world.startAgent(['http', String(port), `--url=http://${HOST}`, '--inspect=false'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const pids = { server: world.server.child.pid!, agent: agent.child.pid! }
  // What transfers at full speed cost anybody, until the collector has found its pace, is not the readers' doing.
  for (let warm = 0; warm < 6; warm++) await download(world)
  const alone = await download(world)
  const before = { server: await residentMiB(pids.server), agent: await residentMiB(pids.agent) }

  const readers = await Promise.all(Array.from({ length: READERS }, () => stall(t, world)))
  // The kernel takes megabytes for each of them, and while it does they are not stalled.
  await standsStill(() => offered)
  const beside = await download(world)

  for (const side of ['server', 'agent'] as const) {
    const grown = (await residentMiB(pids[side])) - before[side]
    t.diagnostic(`${side}: ${before[side].toFixed(0)} MiB, and ${grown.toFixed(1)} MiB more`)
    assert.ok(grown <= MOST_MIB[side], `${side} grew by ${grown} MiB`)
  }
  t.diagnostic(`neighbour: ${alone.toFixed(0)} MB/s alone, ${beside.toFixed(0)} MB/s beside them`)
  // Generous, because other work on the machine changes between the two; a blocked neighbour would never finish.
  assert.ok(beside > alone / 4, `${beside} MB/s instead of ${alone} MB/s`)
  assert.ok(readers.every((reader) => !reader.destroyed))
})

function requestHead(world: World): string {
  return `GET / HTTP/1.1\r\nHost: ${HOST}:${world.httpPort}\r\n\r\n`
}

/** A visitor who asks and then never reads. */
async function stall(t: TestContext, world: World): Promise<Socket> {
  const socket = connect(world.httpPort, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(requestHead(world))
  return socket
}

/** Reads a fixed number of bytes; the speed in MB/s. */
async function download(world: World): Promise<number> {
  const socket = connect(world.httpPort, '127.0.0.1')
  const start = performance.now()
  let left = NEIGHBOUR_BYTES
  socket.write(requestHead(world))
  for await (const piece of socket) {
    left -= piece.length
    if (left <= 0) break
  }
  assert.ok(left <= 0, 'the download ended early')
  return NEIGHBOUR_BYTES / 1000 / (performance.now() - start)
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024
}

/** Waits until a count has not changed for half a second. */
async function standsStill(count: () => number): Promise<void> {
  let last = count()
  let since = performance.now()
  const still = async () => {
    if (count() !== last) since = performance.now()
    last = count()
    return performance.now() - since > 500
  }
  await until(still, 'the readers are stalled', 40_000)
}
