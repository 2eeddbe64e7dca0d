import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { CaptureFile } from './capture-file.ts'
import { CaptureStore } from './capture-store.ts'

const HEAD = Buffer.from('POST /x HTTP/1.1\r\nHost: a\r\nCookie: secret\r\n\r\n')
const RESPONSE = Buffer.from('HTTP/1.1 200 OK\r\n\r\n')

function createPath(): string {
  const directory = createTempDir()
  return join(directory, 'new', 'captures')
}

const fail = (error: Error) => assert.fail(error)

function open(path: string, limit = 1e6, redact: string[] = []) {
  const store = new CaptureStore(limit, redact)
  return { store, file: new CaptureFile(path, store, fail) }
}

function capture(store: CaptureStore, body: Buffer, now = 1000) {
  const captured = store.begin('web', '192.0.2.1:5', HEAD, now)
  store.addRequestBody(captured, body)
  captured.requestNs = 3
  store.addResponse(captured, RESPONSE, 5)
  store.addResponseBody(captured, Buffer.from('reply'))
  store.end(captured, 9)
  return captured
}

test('a file belongs to one agent at a time', async () => {
  const path = createPath()
  const first = open(path)
  const kept = capture(first.store, Buffer.from('first'))

  assert.throws(() => open(path), {
    name: 'CaptureFileInUse',
    message: `Another agent keeps its captured requests in ${path}.`,
  })
  await first.file.close()

  assert.deepEqual(
    open(path)
      .store.list()
      .map(({ id }) => id),
    [kept.id],
  )
})

test('complete exchanges survive a restart, readable by their owner alone', async () => {
  const path = createPath()
  const { store, file } = open(path)
  const body = Buffer.alloc(100_000, 'body')
  const captured = capture(store, body)
  store.pin(captured, true)
  const unpinned = capture(store, Buffer.from('é'))
  store.begin('web', '', HEAD, 1000)
  await file.close()

  const restarted = open(path)
  const [second, first] = restarted.store.list()

  assert.equal(restarted.store.size, 2)
  assert.equal(first!.id, captured.id)
  assert.deepEqual(first!.request.raw(), captured.request.raw())
  assert.deepEqual(first!.response!.raw(), captured.response!.raw())
  assert.ok(first!.pinned && first!.replayable && !first!.open && !second!.pinned)
  const { tunnelName, remoteAddr, startedAt, durationNs, requestNs, responseStartNs } = first!
  assert.deepEqual(
    { tunnelName, remoteAddr, startedAt, durationNs, requestNs, responseStartNs },
    {
      tunnelName: 'web',
      remoteAddr: '192.0.2.1:5',
      startedAt: 1000,
      durationNs: 9,
      requestNs: 3,
      responseStartNs: 5,
    },
  )
  assert.equal(second!.id, unpinned.id)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.ok(restarted.store.begin('web', '', HEAD, 0).id > unpinned.id, 'new ids follow the restored ones')
  await restarted.file.close()
})

test('a change of a pin and a clear reach the file', async () => {
  const path = createPath()
  const { store, file } = open(path)
  const captured = capture(store, Buffer.from('a'))
  await eventually(() => readFileSync(path, 'utf8').includes(captured.id))
  store.pin(captured, true)
  await eventually(() => readFileSync(path, 'utf8').includes('"pinned":true'))
  store.pin(captured, false)
  await file.close()
  const second = open(path)
  assert.equal(second.store.list()[0]!.pinned, false)
  second.store.clear()
  await second.file.close()

  const third = open(path)
  assert.equal(third.store.size, 0)
  await third.file.close()
})

test('the file stays within the limit of the store, and pinned exchanges stay longest', async () => {
  const path = createPath()
  const { store, file } = open(path, 50_000)
  const pinned = capture(store, Buffer.from('kept'))
  store.pin(pinned, true)
  for (let count = 0; count < 40; count++) {
    capture(store, Buffer.alloc(2000), 2000 + count)
    if (count % 10 === 9) {
      const newest = store.list(1)[0]!.id
      await eventually(() => readFileSync(path, 'latin1').includes(newest))
      assert.ok(statSync(path).size <= 50_000)
    }
  }
  await file.close()

  const restarted = open(path, 50_000)
  assert.ok(restarted.store.get(pinned.id)?.pinned)
  assert.ok(restarted.store.size > 3)
  await restarted.file.close()
})

test('a line that was cut off or has no id of ours is skipped, and redacted values are not in the file', async () => {
  const path = createPath()
  const { store, file } = open(path, 1e6, ['cookie'])
  const { id } = capture(store, Buffer.from('a'))
  await file.close()
  appendFileSync(path, readFileSync(path, 'latin1').split('\n')[1]!.replace(id, '~mine'))
  appendFileSync(path, '\n{"id":"airt_x","request":{}}\n{"id":"airt_cut","tunnel":"we')

  const restarted = open(path)

  assert.equal(restarted.store.size, 1)
  assert.ok(!restarted.store.list()[0]!.request.raw().includes('secret'))
  assert.ok(!restarted.store.list()[0]!.replayable)
  await restarted.file.close()
})

test('a file that the agent did not write is left alone, and the message says so', (t) => {
  const path = join(createTempDir(), 'notes.txt')
  t.after(() => rmSync(join(path, '..'), { recursive: true }))
  writeFileSync(path, 'my notes')

  assert.throws(() => open(path), /inspect_db_file .*notes\.txt cannot be used: it is not a file of captured/)
  assert.throws(
    () => open(join(path, 'below')),
    /cannot be used: (a part of the path is not a directory|a file with this name exists)/,
  )
  assert.equal(readFileSync(path, 'utf8'), 'my notes')
})
