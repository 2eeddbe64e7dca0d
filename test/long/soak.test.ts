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
const MAX_SLOPE_PER_MINUTE = MIB
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
function slope(samples: readonly Sample[]): number {
  const mean = (of: (each: Sample) => number) =>
    samples.reduce((sum, each) => sum + of(each), 0) / samples.length
  const [x, y] = [mean(({ minute }) => minute), mean(({ resident }) => resident)]
  const covariance = samples.reduce((sum, each) => sum + (each.minute - x) * (each.resident - y), 0)
  return covariance / samples.reduce((sum, each) => sum + (each.minute - x) ** 2, 0)
}

test(`${MINUTES} minutes of requests, WebSockets, SSH forwards, writes and agent churn leak no memory and no descriptors (P59)`, async (t) => {
  const harness = await startHarness(t, ['--api-rate-limit', '0'])
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
  await Promise.all([
    ...Array.from({ length: CLIENTS }, sendRequests),
    exchangeMessages(),
    ...(openSshSkipReason === false ? [forwardOverSsh()] : []),
    writeResources(),
    churn(),
    collectSamples(),
  ])

  // By then the database has filled its caches, which have a limit.
  const steady = samples.filter((each) => each.minute > MINUTES / 2)
  const growth = slope(steady)
  const maxDescriptors = Math.max(...steady.map(({ descriptors }) => descriptors))
  const minDescriptors = Math.min(...steady.map(({ descriptors }) => descriptors))
  t.diagnostic(
    `${requests} requests, ${writes} writes, ${messages} messages, ${forwards} SSH forwards; a log of up to ${(largestLog / MIB).toFixed(1)} MiB; ${(growth / MIB).toFixed(2)} MiB a minute, ${minDescriptors} to ${maxDescriptors} descriptors`,
  )
  assert.ok(requests > 0 && writes > 0 && messages > 0)
  assert.ok(forwards > 0 || openSshSkipReason !== false)
  assert.ok(
    largestLog > 0 && largestLog < MAX_LOG_BYTES,
    `the write-ahead log grew to ${largestLog} bytes (P5)`,
  )
  // The slope of a short run means nothing: garbage comes and goes.
  if (MINUTES >= 10)
    assert.ok(growth <= MAX_SLOPE_PER_MINUTE, `resident memory grows by ${growth} bytes per minute`)
  const initial = steady[0]!.descriptors
  const last = steady.at(-1)!.descriptors
  // While a group of agents is being replaced, there may be one group more or less.
  assert.ok(
    Math.abs(last - initial) <= MAX_EXTRA_DESCRIPTORS + 2 * AGENTS_IN_GROUP,
    `${initial} became ${last}`,
  )
})
