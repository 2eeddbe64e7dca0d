import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { eventually } from '../../../test/support/eventually.ts'
import { startAgentWithApi, startHttpService } from '../testing/local-api.ts'
import { buildScreenRows } from './model.ts'
import { createJsonReporter, createPlainReporter, reportStatus } from './plain.ts'
import { startScreen } from './screen.ts'

const linesOf = (rows: ReturnType<typeof buildScreenRows>) =>
  rows.map((row) => row.map(({ text }) => text).join(''))

test('the screen shows session, forwarding, connections and requests', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (_request, response) =>
    response.writeHead(404, { 'Content-Length': 2 }).end('no'),
  )
  const { public_url: url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json
  await api.gateway.request(
    String(url),
    'GET /a/rather/long/path/that/does/not/fit HTTP/1.1\r\nHost: x\r\n\r\n',
  )
  await eventually(() => api.agent.connection.latencyMs !== undefined)

  const lines = linesOf(buildScreenRows(api.agent, api.api.url, 120))
  const find = (label: string) => lines.find((line) => line.startsWith(label)) ?? ''

  assert.match(lines[0]!, /^adit {10,}\(Ctrl\+C to quit\)$/)
  assert.match(find('Session Status'), / online$/)
  assert.match(find('Account'), /Ada \(Plan: Self-hosted\)$/)
  assert.match(find('Latency'), /\d+ms$/)
  assert.match(find('Web Interface'), /http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(find('Forwarding').slice(30), `${url} -> http://localhost:${addr}`)
  assert.match(find('Connections'), /ttl +opn +rt1 +rt5 +p50 +p90/)
  const request = lines.at(-1)!
  assert.match(
    request,
    /^\d\d:\d\d:\d\d\.\d{3} \S+ GET +\/a\/rather\/long\/path\/that… 404 Not Found +[\d.]+ms 203\.0\.113\.9$/,
  )
  for (const line of lines) assert.ok(line.length <= 120, line)
})

test('client data cannot send control sequences to the terminal', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (_request, response) => response.end())
  const { public_url: url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json
  await api.gateway.request(String(url), 'GET /\u009b2J HTTP/1.1\r\nHost: x\r\n\r\n')

  assert.doesNotMatch(
    linesOf(buildScreenRows(api.agent, undefined, 80)).join('\n'),
    /[\u0000-\u0009\u001b\u009b]/,
  )
})

test('the live screen is rendered, follows changes and handles its keys', async (t) => {
  const api = await startAgentWithApi(t)
  let screenText = ''
  const stdout = Object.assign(
    new Writable({
      write(chunk, _encoding, callback) {
        screenText += stripVTControlCharacters(String(chunk))
        callback()
      },
    }),
    { isTTY: true, columns: 100, rows: 40 },
  ) as unknown as NodeJS.WriteStream
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode() {},
    ref() {},
    unref() {},
  }) as unknown as NodeJS.ReadStream & PassThrough
  const pressed: string[] = []
  const actions = { quit: () => pressed.push('quit'), update: () => pressed.push('update') }

  const stop = startScreen({
    agent: api.agent,
    webUrl: api.api.url,
    actions,
    background: 'black',
    stdout,
    stdin,
  })
  t.after(stop)
  await eventually(() => screenText.includes('Session Status'))
  await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 3000 })
  await eventually(() => screenText.includes('-> http://localhost:3000'))
  stdin.write('\u0015')
  stdin.write('\u0003')
  await eventually(() => pressed.length === 2)

  assert.deepEqual(pressed, ['update', 'quit'])
})

test('without a screen the address is printed as plain lines or JSON', async (t) => {
  const api = await startAgentWithApi(t)
  const [plain, json]: [string[], string[]] = [[], []]
  t.after(
    reportStatus(
      api.agent,
      createPlainReporter((line) => plain.push(line)),
    ),
  )
  t.after(
    reportStatus(
      api.agent,
      createJsonReporter((line) => json.push(line)),
    ),
  )

  await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 3000 })

  const { publicUrl } = api.agent.tunnels.get('web')!
  assert.deepEqual(plain, [
    'Session        online\n',
    `Forwarding     ${publicUrl} -> http://localhost:3000\n`,
  ])
  assert.deepEqual(
    json.map((line) => JSON.parse(line)),
    [
      { event: 'session', status: 'online' },
      { event: 'tunnel', name: 'web', public_url: publicUrl, proto: 'https', addr: 'http://localhost:3000' },
    ],
  )
})
