import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { eventually } from '../../../test/support/eventually.ts'
import type { Agent } from '../agent.ts'
import { toTunnelSpec } from '../spec/spec.ts'
import { startAgentWithApi, startHttpService } from '../testing/local-api.ts'
import { buildScreenRows } from './model.ts'
import { createJsonReporter, createPlainReporter, reportStatus } from './plain.ts'
import { startScreen } from './screen.ts'

type View = Parameters<typeof buildScreenRows>[1]
const OVERVIEW: View = { webUrl: undefined, hints: [], qrTunnel: undefined }

function linesOf(agent: Agent, columns: number, rows: number, view: Partial<View> = {}): string[] {
  const lines = buildScreenRows(agent, { ...OVERVIEW, ...view }, { columns, rows }).map((row) =>
    row.map(({ text }) => text).join(''),
  )
  assert.ok(lines.length <= rows, `${lines.length} rows`)
  for (const line of lines) assert.ok(line.length <= columns, line)
  return lines
}

async function startRequested(t: TestContext, path: string) {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (_request, response) =>
    response.writeHead(404, { 'Content-Length': 2 }).end('no'),
  )
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json
  await api.gateway.request(String(public_url), `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  return { ...api, addr, url: String(public_url) }
}

test('the screen shows session, forwarding, connections and requests', async (t) => {
  const path = `/a/rather/long/path/${'x'.repeat(100)}`
  const { agent, api, url, addr } = await startRequested(t, path)
  await eventually(() => agent.connection.latencyMs !== undefined)

  const lines = linesOf(agent, 120, 40, { webUrl: api.url })
  const find = (label: string) => lines.find((line) => line.startsWith(label)) ?? ''

  assert.match(lines[0]!, /^adit {10,}\(q to quit, c for a QR code\)$/)
  assert.match(find('Session Status'), / online$/)
  assert.match(find('Account'), /Ada \(Plan: Self-hosted\)$/)
  assert.match(find('Latency'), /\d+ms$/)
  assert.match(find('Web Interface'), /http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(find('Forwarding').slice(30), `${url} -> http://localhost:${addr}`)
  assert.match(find('Connections'), /ttl +opn +rt1 +rt5 +p50 +p90/)
  assert.match(
    lines.at(-1)!,
    /^\d\d:\d\d:\d\d\.\d{3} \S+ GET +\/a\/rather\/long\/path\/x+… 404 Not Found +[\d.]+ms 203\.0\.113\.9$/,
  )
})

test('the path of a request gets the width that is free', async (t) => {
  const { agent } = await startRequested(t, `/${'x'.repeat(300)}`)
  const shownPath = (columns: number) => /x+…/.exec(linesOf(agent, columns, 40).at(-1)!)![0].length

  assert.match(linesOf(agent, 60, 24).at(-1)!, /^\d\d:\d\d:\d\d GET +\/x+… 404 +[\d.]+ms$/)
  assert.ok(shownPath(60) >= 28)
  assert.ok(shownPath(80) >= shownPath(60) + 20)
  assert.ok(shownPath(200) >= shownPath(120) + 80)
})

test('requests have the time of this place', async (t) => {
  const { agent } = await startRequested(t, '/')
  const [capture] = agent.captures.list(1)
  const { TZ } = process.env
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })

  process.env.TZ = 'Asia/Kolkata'
  const time = /^(\d\d):(\d\d)/.exec(linesOf(agent, 80, 24).at(-1)!)!

  const minutes = Math.floor(new Date(capture!.startedAt).getTime() / 60_000) + 330
  assert.equal(Number(time[1]) * 60 + Number(time[2]), minutes % 1440)
})

test('a URL is never cut, however narrow the terminal', async (t) => {
  const { agent } = await startAgentWithApi(t)
  const host = `${'long-name-'.repeat(6)}x.${'label.'.repeat(10)}test`
  const api = agent.tunnels
  const tunnel = await api.start(
    toTunnelSpec('web', { proto: 'http', addr: 'http://localhost:3000', hostname: host }),
  )

  for (const [columns, rows] of [
    [60, 20],
    [80, 24],
    [200, 50],
  ] as const) {
    const lines = linesOf(agent, columns, rows)
    const text = lines.slice(lines.findIndex((line) => line.startsWith('Forwarding'))).join('')

    assert.ok(text.replace(/^Forwarding */, '').startsWith(tunnel.publicUrl), text)
    assert.match(lines.join('\n'), /-> http:\/\/localhost:3000$/m)
  }
})

test('on a small terminal the details make room for requests, never the addresses', async (t) => {
  const { agent, gateway, url, api } = await startRequested(t, '/')
  for (let count = 0; count < 8; count++)
    await gateway.request(url, `GET /r${count} HTTP/1.1\r\nHost: x\r\n\r\n`)
  const hints = [['A finding.', 'A remedy.']] as const

  const small = linesOf(agent, 60, 12, { webUrl: api.url, hints }).join('\n')
  const large = linesOf(agent, 60, 40, { webUrl: api.url, hints }).join('\n')

  for (const part of ['Session Status', url, 'A finding.', 'GET']) assert.ok(small.includes(part), part)
  assert.doesNotMatch(small, /Region|Version|A remedy/)
  for (const part of ['Region', 'Version', 'A remedy.', '/r0', '/r7']) assert.ok(large.includes(part), part)
})

test('the QR code fits a terminal of 80x24, and a smaller one says what it needs', async (t) => {
  const { agent } = await startRequested(t, '/')
  const [tunnel] = agent.tunnels.list()

  const shown = linesOf(agent, 80, 23, { qrTunnel: tunnel })
  const tooSmall = linesOf(agent, 60, 8, { qrTunnel: tunnel }).join('\n')

  assert.match(shown.join('\n'), /█▀▀▀▀▀█|▄▄▄▄▄/)
  assert.ok(shown.includes(tunnel!.publicUrl))
  assert.match(tooSmall, /The QR code needs \d+ columns and \d+ rows; enlarge the\s+terminal\./)
  assert.ok(tooSmall.includes(tunnel!.publicUrl))
})

test('client data cannot send control sequences to the terminal', async (t) => {
  const { agent } = await startRequested(t, '/\u009b2J')

  assert.doesNotMatch(linesOf(agent, 80, 24).join('\n'), /[\u0000-\u0009\u001b\u009b]/)
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
  stdin.write('q')
  await eventually(() => pressed.length === 3)
  stdin.write('c')
  await eventually(() => screenText.includes('c to go back'))

  assert.deepEqual(pressed, ['update', 'quit', 'quit'])
})

test('without a screen the address is printed as plain lines or JSON', async (t) => {
  const api = await startAgentWithApi(t)
  // Served, or a hint follows at its own time.
  const port = await startHttpService(t, (_request, response) => response.end())
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

  await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: port })

  const { publicUrl } = api.agent.tunnels.get('web')!
  assert.deepEqual(plain, [
    'Session        online\n',
    `Forwarding     ${publicUrl} -> http://localhost:${port}\n`,
  ])
  assert.deepEqual(
    json.map((line) => JSON.parse(line)),
    [
      { event: 'session', status: 'online' },
      {
        event: 'tunnel',
        name: 'web',
        public_url: publicUrl,
        proto: 'https',
        addr: `http://localhost:${port}`,
      },
    ],
  )
})
