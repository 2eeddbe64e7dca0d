import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { isLimitedByPeerAddress, readSettings } from '../settings/settings.ts'
import { restartDelay } from '../workers/workers.ts'
import { controlSettings, countWorkers, workerFlags } from './worker-flags.ts'

const read = (...args: string[]) => readSettings(['--data-dir', '/data', ...args], {})

test('a worker has the settings of its server, with the roles of traffic and the ports that are bound', () => {
  const settings = read(
    '--workers',
    '2',
    '--http-addr',
    '0.0.0.0:0',
    '--ssh-addr',
    'false',
    '--domain',
    'example.com',
  )
  const bound = { http: 8081, https: 8443, agent: '127.0.0.1:4443', ssh: null }

  const worker = readSettings(workerFlags(settings, 1, bound), {})

  assert.equal(worker.domain, 'example.com')
  assert.deepEqual([...worker.roles], ['edge', 'gateway'])
  assert.deepEqual(worker.httpAddr, { host: '0.0.0.0', port: 8081 })
  assert.deepEqual([worker.sshAddr, worker.apiAddr, worker.dnsAddr], [undefined, undefined, undefined])
  assert.deepEqual([...controlSettings(settings).roles], ['api', 'dns', 'jobs'])
})

test('each worker has a port of its own for other nodes, after that of the control process', () => {
  const settings = read(
    '--workers',
    '2',
    '--peer-addr',
    '10.0.0.5:4444',
    '--peer-advertise',
    'node.example:5000',
  )

  const worker = readSettings(workerFlags(settings, 2, undefined), {})

  assert.deepEqual(worker.peerAddr, { host: '10.0.0.5', port: 4446 })
  assert.equal(worker.peerAdvertise, 'node.example:5002')
})

test('one worker is no process of its own, and neither are workers without traffic', () => {
  assert.equal(countWorkers(read('--workers', '1')), 0)
  assert.equal(countWorkers(read('--workers', '3', '--roles', 'api,jobs')), 0)
  assert.equal(countWorkers(read('--workers', '3', '--roles', 'edge')), 3)
})

test('workers that could not work fail the start with a sentence', () => {
  assert.throws(() => read('--workers', '0'), /--workers must be auto or a number from 1 to 256, not "0"\./)
  assert.throws(() => read('--workers', '2', '--peer-addr', 'false'), /--workers needs --peer-addr/)
})

test('a crash is followed by a quick restart, and a series of them by ever slower ones', () => {
  assert.deepEqual([1, 2, 3, 4, 20].map(restartDelay), [100, 200, 400, 800, 30_000])
})

test('auto is a worker for each core, and one where the links between nodes have a port or are off', () => {
  const automatic = read('--workers', 'auto').workers

  assert.equal(read().workers, automatic)
  assert.ok(automatic >= 1 && automatic <= availableParallelism())
  for (const address of ['false', '10.0.0.5:4444']) {
    const limited = read('--workers', 'auto', '--peer-addr', address)
    assert.equal(limited.workers, 1)
    assert.equal(isLimitedByPeerAddress(limited), automatic > 1)
  }
  assert.equal(isLimitedByPeerAddress(read('--workers', '1', '--peer-addr', 'false')), false)
  const worker = readSettings(workerFlags(read('--workers', '3'), 1, undefined), {})
  assert.equal(worker.workers, 3)
})
