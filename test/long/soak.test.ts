import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket, WebSocketServer } from 'ws'
import { createIdentity, openSshSkipReason, startSsh } from '../ssh/openssh.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { readText, startHarness } from '../support/harness.ts'
import { INSPECTABLE, inspectMemory, type LiveMemory } from '../support/inspector.ts'
import { type LightAgents, startLightAgents } from '../support/light-agents.ts'
import { listen } from '../support/local-server.ts'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 30)
const SAMPLE_MS = 5000
const CLIENTS = 4
/** P59: a hundred requests a second over all clients. Unpaced, the slope would show how garbage collection lags. */
const REQUEST_INTERVAL_MS = (1000 / 100) * CLIENTS
const GROUPS = 10
const AGENTS_IN_GROUP = 20
const MIB = 1024 * 1024
/** How often in a run the server's garbage is collected, and what is left is measured. */
const COLLECTIONS = 12
/**
 * Of what is left after a collection: resident memory also follows the room that V8 gives to new objects, which grows by more
 * than half of this for half an hour and has a limit. Outside of V8, free blocks of the allocator count as well.
 */
const MAX_SLOPE_PER_MINUTE: LiveMemory = { objects: MIB / 4, native: MIB }
/** With garbage and all room for it. */
const MAX_RESIDENT_BYTES = 320 * MIB
const MAX_EXTRA_DESCRIPTORS = 10
const MAX_LOG_BYTES = 64 * MIB
const HOST = 'soak.adit.localhost'
const SSH_HOST = 'soak-ssh.adit.localhost'
/** Messages of a WebSocket, and requests of an SSH forward, before it ends. */
const MESSAGES = 50
const REQUESTS_OVER_SSH = 1500

interface Sample {
  readonly minute: number
  readonly resident: number
  readonly descriptors: number
}

async function sample(pid: number, minute: number): Promise<Sample> {
  const [, pages] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')
  return {
    minute,
    resident: Number(pages) * 4096,
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
  }
}

/** Bytes per minute, by least squares: an average would hide slow growth. */
function slope<T extends { readonly minute: number }>(samples: readonly T[], bytes: (each: T) => number) {
  const mean = (of: (each: T) => number) => samples.reduce((sum, each) => sum + of(each), 0) / samples.length
  const [x, y] = [mean(({ minute }) => minute), mean(bytes)]
  const covariance = samples.reduce((sum, each) => sum + (each.minute - x) * (bytes(each) - y), 0)
  return covariance / samples.reduce((sum, each) => sum + (each.minute - x) ** 2, 0)
}

test(`${MINUTES} minutes of requests, WebSockets, SSH forwards, writes and agent churn leak no memory and no descriptors (P59)`, async (t) => {
  const harness = await startHarness(t, ['--api-rate-limit', '0'], INSPECTABLE)
  const measureLive = await inspectMemory(t, harness.server)
  const service = createServer((request, response) => {
    request.resume()
    response.end('x'.repeat(Number(request.url!.slice(1))))
  })
  new WebSocketServer({ server: service }).on('connection', (webSocket) =>
    webSocket.on('message', (message) => webSocket.send(message)),
  )
  const port = await listen(t, service)
  const agent = harness.startAgent(['http', String(port), `--url=http://${HOST}`])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const groups: LightAgents[] = Array.from({ length: GROUPS }, () =>
    startLightAgents(t, harness.credentials, AGENTS_IN_GROUP),
  )
  const online = () => groups.reduce((sum, { online: count }) => sum + count, 0)
  await eventually(async () => online() === GROUPS * AGENTS_IN_GROUP, 'all agents are online', 120_000)

  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  const running = () => minute() < MINUTES
  let [requests, writes, messages, forwards] = [0, 0, 0, 0]
  const call = createClient(harness.credentials.api_url, harness.credentials.api_key)
  const sendRequests = async () => {
    let next = performance.now()
    for (let size = 0; running(); size = (size * 7 + 101) % 200_000) {
      next += REQUEST_INTERVAL_MS
      await delay(Math.max(0, next - performance.now()))
      const body = await readText(await harness.get(HOST, `/${size}`))
      assert.equal(body.length, size)
      requests += 1
    }
  }
  /** WebSockets one after the other, each with some messages there and back. */
  const exchangeMessages = async () => {
    const headers = { host: `${HOST}:${harness.httpPort}` }
    while (running()) {
      const webSocket = new WebSocket(`ws://127.0.0.1:${harness.httpPort}/`, { headers })
      await once(webSocket, 'open')
      for (let message = 0; message < MESSAGES; message++) {
        webSocket.send('x'.repeat(message * 100))
        const [received] = await once(webSocket, 'message')
        assert.equal(received.length, message * 100)
        messages += 1
        await delay(REQUEST_INTERVAL_MS)
      }
      webSocket.close()
      await once(webSocket, 'close')
    }
  }
  /** A forward of an SSH client that gets some requests and ends, and then the next. */
  const forwardOverSsh = async () => {
    const identity = await createIdentity({ call })
    while (running()) {
      const ssh = startSsh(t, harness, identity, ['-R', `${SSH_HOST}:80:127.0.0.1:${port}`], ['http'])
      await eventually(async () => (await readText(await harness.get(SSH_HOST, '/3'))) === 'xxx')
      for (let size = 0; running() && size < REQUESTS_OVER_SSH; size++) {
        assert.equal((await readText(await harness.get(SSH_HOST, `/${size}`))).length, size)
        await delay(REQUEST_INTERVAL_MS)
      }
      ssh.process.kill()
      await ssh.waitForExit()
      forwards += 1
    }
  }
  const writeResources = async () => {
    while (running()) {
      const { id } = await call.create('/ip_policies', { description: 'soak' })
      assert.equal((await call('DELETE', `/ip_policies/${id}`)).status, 204)
      writes += 2
      await delay(50)
    }
  }
  /** Replaces a tenth of the agents each minute. */
  const churn = async () => {
    for (let next = 1; running(); next++) {
      while (running() && minute() < next) await delay(500)
      groups.shift()!.stop()
      groups.push(startLightAgents(t, harness.credentials, AGENTS_IN_GROUP))
    }
  }
  const samples: Sample[] = []
  const logFile = join(dirname(harness.credentials.ca_file), 'adit.db-wal')
  let largestLog = 0
  const collectSamples = async () => {
    while (running()) {
      samples.push(await sample(harness.server.child.pid!, minute()))
      largestLog = Math.max(largestLog, statSync(logFile).size)
      await delay(SAMPLE_MS)
    }
  }
  const live: (LiveMemory & { readonly minute: number })[] = []
  const collectGarbage = async () => {
    for (let next = 1; next <= COLLECTIONS; next++) {
      while (minute() < (next * MINUTES) / COLLECTIONS) await delay(500)
      live.push({ minute: minute(), ...(await measureLive()) })
    }
  }
  await Promise.all([
    ...Array.from({ length: CLIENTS }, sendRequests),
    exchangeMessages(),
    ...(openSshSkipReason === false ? [forwardOverSsh()] : []),
    writeResources(),
    churn(),
    collectSamples(),
    collectGarbage(),
  ])

  // By then the database has filled its caches, which have a limit.
  const steady = samples.filter((each) => each.minute > MINUTES / 2)
  const steadyLive = live.filter((each) => each.minute > MINUTES / 2)
  const growth = {
    objects: slope(steadyLive, ({ objects }) => objects),
    native: slope(steadyLive, ({ native }) => native),
  }
  const maxResident = Math.max(...samples.map(({ resident }) => resident))
  const mebibytes = (bytes: number) => (bytes / MIB).toFixed(2)
  const maxDescriptors = Math.max(...steady.map(({ descriptors }) => descriptors))
  const minDescriptors = Math.min(...steady.map(({ descriptors }) => descriptors))
  t.diagnostic(
    `${requests} requests, ${writes} writes, ${messages} messages, ${forwards} SSH forwards; a log of up to ${mebibytes(largestLog)} MiB, ${minDescriptors} to ${maxDescriptors} descriptors`,
  )
  t.diagnostic(
    `MiB a minute: objects ${mebibytes(growth.objects)}, native ${mebibytes(growth.native)}, with garbage ${mebibytes(slope(steady, ({ resident }) => resident))}; at most ${mebibytes(maxResident)} MiB`,
  )
  for (const each of live)
    t.diagnostic(
      `minute ${each.minute.toFixed(1)}: objects ${mebibytes(each.objects)} MiB, native ${mebibytes(each.native)}`,
    )
  assert.ok(requests > 0 && writes > 0 && messages > 0)
  assert.ok(forwards > 0 || openSshSkipReason !== false)
  assert.ok(
    largestLog > 0 && largestLog < MAX_LOG_BYTES,
    `the write-ahead log grew to ${largestLog} bytes (P5)`,
  )
  // The slope of a short run means nothing: garbage comes and goes.
  if (MINUTES >= 10)
    for (const part of ['objects', 'native'] as const)
      assert.ok(growth[part] <= MAX_SLOPE_PER_MINUTE[part], `${part}: ${growth[part]} bytes more per minute`)
  assert.ok(maxResident <= MAX_RESIDENT_BYTES, `${maxResident} bytes are resident`)
  const initial = steady[0]!.descriptors
  const last = steady.at(-1)!.descriptors
  // While a group of agents is being replaced, there may be one group more or less.
  assert.ok(
    Math.abs(last - initial) <= MAX_EXTRA_DESCRIPTORS + 2 * AGENTS_IN_GROUP,
    `${initial} became ${last}`,
  )
})
