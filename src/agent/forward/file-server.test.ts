import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createTestRoute, openTestClient } from '../testing/route.ts'

function createSite() {
  const dir = createTempDir()
  const root = join(dir, 'www')
  mkdirSync(join(root, 'sub dir'), { recursive: true })
  mkdirSync(join(root, 'withindex'))
  writeFileSync(join(dir, 'secret.txt'), 'SECRET')
  writeFileSync(join(root, 'a.txt'), '0123456789')
  writeFileSync(join(root, '.env'), 'SECRET')
  writeFileSync(join(root, '<img>.html'), 'x')
  writeFileSync(join(root, 'withindex', 'index.html'), 'the index')
  symlinkSync(join(dir, 'secret.txt'), join(root, 'link.txt'))
  symlinkSync(join(root, 'a.txt'), join(root, 'inside.txt'))
  return root
}

async function get(path: string, head = '', method = 'GET') {
  const { route, captures } = createTestRoute({ proto: 'http', addr: `file://${createSite()}` })
  const client = openTestClient(route)
  client.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`)
  await client.until(() => client.ended)
  client.end()
  const end = client.text.indexOf('\r\n\r\n')
  return {
    status: Number(client.text.slice(9, 12)),
    head: client.text.slice(0, end),
    body: client.text.slice(end + 4),
    captures,
  }
}

test('a file is served with its type and length, and captured', async () => {
  const { status, head, body, captures } = await get('/a.txt')

  assert.equal(status, 200)
  assert.equal(body, '0123456789')
  assert.match(head, /Content-Type: text\/plain/)
  assert.match(captures.list()[0]?.response?.raw().toString() ?? '', /0123456789$/)
})

test('a directory serves its index, or an escaped listing', async () => {
  assert.equal((await get('/withindex/')).body, 'the index')

  const { body } = await get('/')
  assert.match(body, /href="\.\/sub%20dir\/"/)
  assert.match(body, /&lt;img&gt;\.html/)
  assert.doesNotMatch(body, /\.env|<img>/)
})

test('a directory without a trailing slash is redirected', async () => {
  const { status, head } = await get('//withindex')

  assert.equal(status, 301)
  assert.match(head, /Location: \/withindex\/\r\n/)
})

test('a file with a trailing slash does not exist', async () => {
  assert.equal((await get('/a.txt/')).status, 404)
  assert.equal((await get('/withindex/index.html/?x')).status, 404)
})

test('ranges and HEAD are supported, other methods are rejected', async () => {
  const range = await get('/a.txt', 'Range: bytes=2-4\r\n')
  assert.equal(range.status, 206)
  assert.equal(range.body, '234')
  assert.equal((await get('/a.txt', 'Range: bytes=-3\r\n')).body, '789')
  assert.equal((await get('/a.txt', 'Range: bytes=99-\r\n')).status, 416)
  assert.equal((await get('/a.txt', '', 'HEAD')).body, '')
  assert.equal((await get('/a.txt', '', 'POST')).status, 405)
})

test('a symbolic link within the directory is followed', async () => {
  assert.equal((await get('/inside.txt')).body, '0123456789')
})

const OUTSIDE = [
  '/../secret.txt',
  '/%2e%2e/secret.txt',
  '/sub%20dir/..%2f..%2fsecret.txt',
  '/..%5csecret.txt',
  '/link.txt',
  '/.env',
  '/%2eenv',
  '/a.txt%00.html',
  '/%ff',
  '/a.txt/x',
]

for (const path of OUTSIDE) {
  test(`${path} is not served`, async () => {
    const { status, body } = await get(path)

    assert.equal(status, 404)
    assert.doesNotMatch(body, /SECRET/)
  })
}
