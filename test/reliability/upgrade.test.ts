import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { LAUNCH_COMMAND } from '../../src/base/version.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { startLoadedServer, startUpgrade, startWork } from '../support/upgrade.ts'

for (const workers of [1, 2])
  test(`with ${workers} workers, a new release takes over from the running one: no request fails, and what is under way ends by itself`, async (t) => {
    const { dataDir, server, service, agent, port, load } = await startLoadedServer(t, {
      perSecond: 50,
      workers,
    })
    const { url: tcpUrl } = await agent.forward({ addr: service.port, proto: 'tcp' })
    const work = await startWork(port, service)

    const upgrade = startUpgrade(t, dataDir)
    await upgrade.takenOver()
    const sentBefore = load.sent
    await eventually(() => load.sent > sentBefore + 50)

    assert.deepEqual(await work.finish(), { slow: '200', upload: 200, webSocket: 1001 })
    assert.equal(service.uploaded, 'first half, second half'.length)
    assert.equal(await upgrade.waitForExit(), 0)
    await server.ended()
    const { failed, counts } = await load.stop()
    assert.equal(failed, 0, JSON.stringify(counts))
    assert.equal((await fetch(tcpUrl.replace('tcp:', 'http:'))).status, 200)
    const call = createClient(server.url, server.apiKey)
    assert.equal((await call('GET', '/tunnel_sessions')).body.tunnel_sessions.length, 1)
  })

for (const workers of [1, 2])
  test(`with ${workers} workers, a new release that fails is ended, and the running one carries on; systemd follows the next that succeeds`, async (t) => {
    const programs = createTempDir()
    const notified = join(programs, 'notified')
    await writeFile(join(programs, 'systemd-notify'), `#!/bin/sh\necho "$@" > ${notified}\n`, { mode: 0o755 })
    const { dataDir, server, load } = await startLoadedServer(t, {
      perSecond: 50,
      workers,
      environment: { NOTIFY_SOCKET: '/run/systemd/notify', PATH: `${programs}:${process.env.PATH}` },
    })
    const failing = join(dataDir, 'failing-release')
    const failpoint = 'NODE_ENV=test TEST_FAILPOINT=server.start:20:throw'
    await writeFile(failing, `#!/bin/sh\n${failpoint} exec ${LAUNCH_COMMAND.join(' ')} "$@"\n`, {
      mode: 0o755,
    })
    const hanging = join(dataDir, 'hanging-release')
    await writeFile(hanging, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 })

    for (const [args, reason] of [
      [[failing], 'The new release failed: The failpoint server.start was reached.'],
      [['/bin/false'], 'The new release exited during startup (exit code 1).'],
      [[join(dataDir, 'missing')], 'cannot be run: no such file.'],
      [
        [hanging, '--upgrade-timeout', '1s'],
        'The new release was not ready within 1 s; allow more time with --upgrade-timeout.',
      ],
    ] as const) {
      const upgrade = startUpgrade(t, dataDir, args)
      assert.equal(await upgrade.waitForExit(), 1)
      assert.ok(upgrade.stderr.includes(`${reason} The running release continues unchanged.`), upgrade.stderr)
    }
    const upgrade = startUpgrade(t, dataDir)
    const pid = await upgrade.takenOver()

    assert.equal(await upgrade.waitForExit(), 0)
    assert.equal(await readFile(notified, 'utf8'), `MAINPID=${pid}\n`)
    await server.ended()
    const { failed, counts } = await load.stop()
    assert.equal(failed, 0, JSON.stringify(counts))
  })

test('on PostgreSQL, with workers and fixed ports for links, one upgrade follows another', async (t) => {
  const peerPort = await findFreePorts(6)
  const { url } = await createTestDatabase(t)
  const flags = ['--database-url', url, '--peer-addr', `127.0.0.1:${peerPort}`]
  const { dataDir, load } = await startLoadedServer(t, { perSecond: 50, workers: 2, flags })

  for (const _upgrade of [1, 2]) {
    const upgrade = startUpgrade(t, dataDir)
    await upgrade.takenOver()
    assert.equal(await upgrade.waitForExit(), 0)
  }

  const { failed, counts } = await load.stop()
  assert.equal(failed, 0, JSON.stringify(counts))
})

test('a server that is stopped during an upgrade ends the new release too', async (t) => {
  const dataDir = createTempDir()
  const server = await startServerProcess(t, dataDir, ['--workers', '1'])
  const [hanging, pidFile] = [join(dataDir, 'hanging-release'), join(dataDir, 'pid')]
  await writeFile(hanging, `#!/bin/sh\necho $$ > ${pidFile}\nexec sleep 600\n`, { mode: 0o755 })
  const upgrade = startUpgrade(t, dataDir, [hanging])
  const pid = Number(await eventually(() => readFile(pidFile, 'utf8')))

  assert.equal(await server.stop(), 0)

  assert.equal(await upgrade.waitForExit(), 1)
  assert.match(upgrade.stderr, /The server was stopped\./)
  await eventually(() => !existsSync(`/proc/${pid}`))
})

test('where no server runs, the command says so', async (t) => {
  const dataDir = createTempDir()

  const upgrade = startUpgrade(t, dataDir)

  assert.equal(await upgrade.waitForExit(), 1)
  assert.match(upgrade.stderr, /No server that can be upgraded is running on the data directory/)
})
