import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { parseUpstream } from '../spec/upstream-address.ts'
import { isServed, parseKernelTables, parseNetstat } from './local-listeners.ts'

test('a port of this machine is served while something listens on it', {
  skip: process.platform !== 'linux',
}, async () => {
  for (const host of ['127.0.0.1', '0.0.0.0', '::1', '::']) {
    // Another process may listen on the same port of the other address family, but not on every port that is tried.
    const afterwards: (boolean | undefined)[] = []
    while (afterwards.length < 10 && !afterwards.includes(false)) {
      const server = createServer().listen(0, host)
      await once(server, 'listening')
      const { port } = server.address() as { port: number }
      assert.equal(await isServed(parseUpstream(String(port), 'http')), true, host)
      await once(server.close(), 'close')
      afterwards.push(await isServed(parseUpstream(`127.0.0.1:${port}`, 'tcp')))
    }

    assert.equal(afterwards.at(-1), false, host)
  }
})

test('nothing is known about other machines', async () => {
  assert.equal(await isServed(parseUpstream('192.0.2.1:80', 'http')), undefined)
  assert.equal(await isServed(parseUpstream('db.example.com:5432', 'tcp')), undefined)
})

test('a Unix socket is served when it exists, a directory always', async () => {
  assert.equal(await isServed(parseUpstream('unix:/nonexistent.sock', 'http')), false)
  assert.equal(await isServed(parseUpstream('file:///', 'http')), true)
})

test('only listening entries count in the tables of each system', () => {
  const linux = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:0BB8 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 2 1
  10: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000`
  const macos = `Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)
tcp46      0      0  *.3000                 *.*                    LISTEN
tcp4       0      0  127.0.0.1.8080         127.0.0.1.50000        ESTABLISHED
tcp6       0      0  ::1.5432               *.*                    LISTEN`
  const windows = `  Proto  Local Address          Foreign Address        State
  TCP    0.0.0.0:135            0.0.0.0:0              LISTENING
  TCP    127.0.0.1:9000         127.0.0.1:52000        ESTABLISHED
  TCP    [::1]:3000             [::]:0                 LISTENING`

  assert.deepEqual([...parseKernelTables(linux)], [8080, 80])
  assert.deepEqual([...parseNetstat(macos)], [3000, 5432])
  assert.deepEqual([...parseNetstat(windows)], [135, 3000])
})
