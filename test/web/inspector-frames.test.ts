import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { WebSocket, WebSocketServer } from 'ws'
import { startAgentWithApi, startHttpService } from '../../src/agent/testing/local-api.ts'
import { StreamDuplex } from '../../src/base/io/streams/stream-duplex.ts'
import { openPage, startBrowser } from './browser.ts'
import { assertAccessibleEverywhere, assertText, row } from './inspected.ts'

let browser: Browser
before(async () => {
  browser = await startBrowser('inspector')
})
after(() => browser.close())

/** A WebSocket through an agent to an echo service. */
async function startChat(t: TestContext) {
  const api = await startAgentWithApi(t)
  const service = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: { threshold: 0 } })
  await once(service, 'listening')
  t.after(() => service.close())
  service.on('connection', (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })))
  const addr = (service.address() as { port: number }).port
  const { json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })
  const connection = new StreamDuplex(api.gateway.open(String(json.public_url)))
  const socket = new WebSocket('ws://n.test/chat', { createConnection: () => connection as never })
  t.after(() => socket.terminate())
  await once(socket, 'open')
  return { ...api, socket, inspector: `${api.api.url}/inspect/http` }
}

const list = (page: Page, name: string) => page.getByRole('list', { name }).getByRole('listitem')

test('WebSocket messages are listed live and can be expanded', async (t) => {
  const { socket, inspector } = await startChat(t)
  const { page, pageErrors } = await openPage(t, browser, inspector)
  await row(page, '/chat').click()
  await page.getByText('None yet.').waitFor()

  socket.send('{"say":"hello","to":["all"]}')
  await list(page, 'Messages').nth(1).waitFor()
  socket.send(Buffer.from([1, 2, 254]))
  await list(page, 'Messages').nth(3).waitFor()
  socket.close(4001, 'enough')
  await page.getByText('6 · ended').waitFor()

  await assertText(list(page, 'Messages').nth(0), /from the client\s+text\s+\{"say":"hello","to":\["all"\]\}/)
  await assertText(list(page, 'Messages').nth(1), /from the server\s+text/)
  await assertText(list(page, 'Messages').nth(3), /binary\s+01 02 fe/)
  await assertText(list(page, 'Messages').nth(4), /close\s+4001 enough/)
  await list(page, 'Messages').nth(1).getByRole('button').press('Enter')
  await assertText(list(page, 'Messages').nth(1).locator('pre'), /\{\n {2}"say": "hello",/)
  await list(page, 'Messages').nth(3).getByRole('button').click()
  await assertText(list(page, 'Messages').nth(3).locator('pre'), /^000000 {2}01 02 fe/)
  await assertText(list(page, 'Messages').nth(1), /decompressed/)
  assert.deepEqual(pageErrors, [])
})

test('server-sent events are listed live', async (t) => {
  const api = await startAgentWithApi(t)
  let send: (text: string) => void = () => {}
  const addr = await startHttpService(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    send = (text) => response.write(text)
    send('event: greeting\ndata: hello\n\n')
  })
  const { json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })
  const stream = api.gateway.open(String(json.public_url))
  stream.sink = { onData: (chunk) => stream.consumed(chunk.length), onEnd() {}, onDrain() {}, onClose() {} }
  stream.write(Buffer.from('GET /events HTTP/1.1\r\nHost: x\r\n\r\n'))
  const { page, pageErrors } = await openPage(t, browser, `${api.api.url}/inspect/http`)
  await row(page, '/events').click()
  await list(page, 'Events').nth(0).waitFor()

  send('id: 7\ndata: {"price": 12}\n\n')
  await list(page, 'Events').nth(1).waitFor()

  await assertText(list(page, 'Events').nth(0), /from the server\s+greeting\s+hello/)
  await assertText(list(page, 'Events').nth(1), /message\s+\{"price": 12\}/)
  await page.getByText('2 · open').waitFor()
  assert.deepEqual(pageErrors, [])
})

test('the page stays responsive under many messages, and shows how many are hidden', async (t) => {
  const { socket, inspector } = await startChat(t)
  const { page } = await openPage(t, browser, inspector)
  await row(page, '/chat').click()

  for (let count = 1; count <= 1000; count++) socket.send(`message number ${count}`)

  await page.getByText('2000 · open').waitFor()
  await list(page, 'Messages').getByText('message number 1000').first().waitFor()
  assert.equal(await list(page, 'Messages').count(), 1000)
  await assertText(page.locator('.frames'), /The latest 1000 are shown/)
})

test('the exported archive contains messages', async (t) => {
  const { socket, inspector } = await startChat(t)
  const { page } = await openPage(t, browser, inspector)
  await row(page, '/chat').click()
  socket.send('hello')
  await list(page, 'Messages').nth(1).waitFor()

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'HAR' }).click()
  const har = JSON.parse(await readFile(await (await download).path(), 'utf8'))

  const [entry] = har.log.entries
  assert.equal(entry._resourceType, 'websocket')
  assert.deepEqual(
    entry._webSocketMessages.map(({ type, opcode, data }: Record<string, unknown>) => [type, opcode, data]),
    [
      ['send', 1, 'hello'],
      ['receive', 1, 'hello'],
    ],
  )
})

test('hostile messages are escaped', async (t) => {
  const { socket, inspector } = await startChat(t)
  const { page, pageErrors } = await openPage(t, browser, inspector)
  await row(page, '/chat').click()

  socket.send('<img src=x onerror="window.owned=1"><script>window.owned=1</script>')
  socket.send(JSON.stringify({ __proto__: null, '<b>': '<script>window.owned=1</script>' }))
  await list(page, 'Messages').nth(3).waitFor()
  for (let index = 0; index < 4; index++) await list(page, 'Messages').nth(index).getByRole('button').click()

  assert.equal(await page.evaluate<boolean>('"owned" in window'), false)
  assert.equal(await page.locator('main script, main img').count(), 0)
  assert.deepEqual(pageErrors, [])
})

test('the list of messages is accessible in both themes and on a small screen', async (t) => {
  const { socket, inspector } = await startChat(t)
  socket.send(
    '{"say":"hello","to":["all"],"text":"a long message that does not fit a line of the list at all"}',
  )
  socket.send(Buffer.from([1, 2, 254]))
  socket.ping('are you there')
  const { page } = await openPage(t, browser, inspector, { bypassCSP: true })
  await row(page, '/chat').click()
  await list(page, 'Messages').nth(5).waitFor()
  await list(page, 'Messages').nth(0).getByRole('button').click()
  await page.locator('.frames').scrollIntoViewIfNeeded()
  await page.locator('.detail').evaluate('(element) => { element.scrollTop = element.scrollHeight }')

  await assertAccessibleEverywhere(page, 'inspector-frames')
})
