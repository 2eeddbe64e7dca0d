import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BASE_ROOT } from '../../src/base/version.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'

const SIZES = [
  [60, 20],
  [80, 24],
  [200, 50],
] as const

/** The crash of a program, on request. */
const CRASH_ON_SIGNAL = `--import=data:text/javascript,process.on('SIGUSR2',()=>{throw(new(Error)('crashed'))})`

/** Runs `adit http` in a terminal; afterwards the shell says how it ended. */
async function startScreen(t: TestContext, [columns, rows]: readonly [number, number], flags = '') {
  const platform = await startPlatform(t)
  const port = await startHttp(t, (_request, response) => response.end('page'))
  const command = `'${join(BASE_ROOT, 'bin', 'adit')}' http ${port} --url app.adit.localhost --web-addr=false ${flags}`
  const env = cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir, NODE_OPTIONS: CRASH_ON_SIGNAL })
  const script = `echo 'typed before'; ${command}; echo "exit code $?"; exec sleep 1000`
  const terminal = openTerminal(t, { script, columns, rows, env })
  const url = `http://app.adit.localhost:${new URL(platform.credentials.http_url).port}`
  return { platform, terminal, url }
}

const showsUrl = (terminal: Terminal, url: string) => () => terminal.text().replaceAll('\n', '').includes(url)

async function assertRestored(terminal: Terminal, code: number): Promise<void> {
  await eventually(() => terminal.text().includes('exit code'), terminal.text)
  assert.equal(terminal.isAlternate(), false)
  assert.equal(terminal.hasCursor(), true)
  assert.match(terminal.text(), new RegExp(`^typed before\n(.|\n)*exit code ${code}$`, 'm'))
  assert.doesNotMatch(terminal.text(), /Session Status/)
}

for (const size of SIZES)
  test(`the live screen fits a terminal of ${size.join('x')}, and q restores what was there before`, async (t) => {
    const { platform, terminal, url } = await startScreen(t, size)
    await eventually(showsUrl(terminal, url), terminal.text)
    await platform.fetch(`${url}/some/page`).then((response) => response.text())
    await eventually(() => terminal.text().includes('/some/page'), terminal.text)

    assert.equal(terminal.isAlternate(), true)
    const lines = terminal.lines()
    assert.match(lines[0]!, /^adit +\(q to quit, c for a QR code\)$/)
    assert.equal(lines[0]!.length, size[0], 'the title takes the whole width')
    assert.match(terminal.text(), /Session Status +online/)
    assert.match(terminal.text(), /Forwarding +http:[\s\S]*Forwarding +https:/)
    assert.match(terminal.text(), /Browsers warn about the https URL/)

    terminal.press('q')
    await assertRestored(terminal, 0)
  })

test('the screen follows the size of its terminal', async (t) => {
  const { terminal, url } = await startScreen(t, [80, 24])
  await eventually(showsUrl(terminal, url), terminal.text)

  terminal.resize(60, 20)

  await eventually(() => terminal.lines()[0]?.length === 60, terminal.text)
  await eventually(showsUrl(terminal, url), terminal.text)
})

test('c shows a QR code and goes back, and --qr begins with it', async (t) => {
  const { terminal, url } = await startScreen(t, [80, 24], '--qr')
  await eventually(() => terminal.text().includes('c to go back'), terminal.text)
  await eventually(() => /[▀▄█]{20}/.test(terminal.text()), terminal.text)
  assert.ok(terminal.lines().includes(url))

  // One code for each URL, then the overview.
  terminal.press('c')
  await eventually(() => terminal.text().includes('https://app.adit.localhost'), terminal.text)
  terminal.press('c')

  await eventually(() => terminal.text().includes('Session Status'), terminal.text)
})

test('a crash and a signal leave the terminal as it was', async (t) => {
  for (const [signal, code] of [
    ['SIGTERM', 0],
    ['SIGUSR2', 1],
  ] as const) {
    const { terminal, url } = await startScreen(t, [80, 24])
    await eventually(showsUrl(terminal, url), terminal.text)

    process.kill(terminal.programPid(), signal)

    await assertRestored(terminal, code)
  }
})

test('SIGHUP leaves an agent running while its terminal is there; it ends with the terminal', async (t) => {
  const { terminal, url } = await startScreen(t, [80, 24])
  await eventually(showsUrl(terminal, url), terminal.text)
  const pid = terminal.programPid()

  process.kill(pid, 'SIGHUP')
  await eventually(() => terminal.text().includes('SIGHUP has changed nothing'), terminal.text)
  terminal.close()

  await eventually(() => !existsSync(`/proc/${pid}`), 'the agent has ended')
})
