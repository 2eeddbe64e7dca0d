import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startDelayRelay } from '../support/delay-relay.ts'
import { startTcp } from '../support/local-server.ts'
import { ObservedBudget } from '../support/observed-budget.ts'
import { platformAt, startGateway } from './gateway.ts'
import { readUrl, openSshSkipReason as skip, startSsh } from './openssh.ts'

const ONE_WAY_MS = 10
const MiB = 1024 * 1024

test('a download from an SSH client behind a long link gets a window that fits the link', {
  skip,
}, async (t) => {
  const payload = randomBytes(24 * MiB)
  const service = await startTcp(t, (socket) => socket.end(payload))
  const windows = new ObservedBudget()
  const { registry, port, keyFile } = await startGateway(t, { windows, limits: {} })
  const relay = await startDelayRelay(t, port, ONE_WAY_MS)
  const client = startSsh(t, platformAt(relay), { keyFile }, ['-R', `mine:80:127.0.0.1:${service}`])
  await readUrl(client)
  const { free } = windows

  const channel = registry.directory.atHost('http', 'mine.adit.test')!.current.open({
    clientAddress: '192.0.2.1:1',
    serverAddress: '192.0.2.2:80',
    proto: 'http',
    via: 'endpoint',
    passthroughTls: false,
  })
  const hash = createHash('sha256')
  await new Promise<void>((resolve, reject) => {
    channel.sink = {
      onData(chunk) {
        hash.update(chunk)
        channel.consumed(chunk.length)
      },
      onEnd: () => channel.end(),
      onDrain() {},
      onClose: (error) => (error === undefined ? resolve() : reject(error)),
    }
  })

  assert.equal(hash.digest('hex'), createHash('sha256').update(payload).digest('hex'))
  assert.ok(windows.maxShare >= MiB / 2, `${windows.maxShare} bytes`)
  assert.equal(windows.free, free)
})
