import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TIMEOUT_MS } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { launchChromium } from '../web/browser.ts'
import { installNpm } from './installs.ts'
import { assertSameUse, HOST, type Use } from './same-use.ts'

interface DevelopmentServer {
  readonly name: string
  readonly packages: readonly string[]
  /** The sources of the application; the server allows the public name, as its documents say. */
  readonly files: Readonly<Record<string, string>>
  /** The file that is changed. */
  readonly edited: string
  /** The program below `node_modules/.bin` with its arguments. */
  command(port: number): [string, ...string[]]
}

const REACT = ['react@19.3.1', 'react-dom@19.3.1']
const PAGE = `<!doctype html><div id="root"></div>`
const MOUNT = `import { createRoot } from 'react-dom/client'\nimport { App } from './app.jsx'\ncreateRoot(document.getElementById('root')).render(<App />)\n`
const APP = `export function App() {\n  return <h1>before</h1>\n}\n`

const SERVERS: readonly DevelopmentServer[] = [
  {
    name: 'Vite',
    packages: [...REACT, 'vite@8.3.8', '@vitejs/plugin-react@6.3.0'],
    files: {
      'index.html': `${PAGE}<script type="module" src="/main.jsx"></script>`,
      'main.jsx': MOUNT,
      'app.jsx': APP,
      'vite.config.js': `import react from '@vitejs/plugin-react'
export default { plugins: [react()], server: { allowedHosts: ['${HOST}'] } }`,
    },
    edited: 'app.jsx',
    command: (port) => ['vite', '--host', '127.0.0.1', '--strictPort', '--port', String(port)],
  },
  {
    name: 'webpack',
    packages: ['webpack@5.112.2', 'webpack-dev-server@6.1.0', 'webpack-cli@7.3.1'],
    files: {
      'public/index.html': `<!doctype html><h1></h1><script src="/main.js"></script>`,
      'src/index.js': `import { text } from './text.js'
const show = () => { document.querySelector('h1').textContent = text }
show()
import.meta.webpackHot.accept('./text.js', show)`,
      'src/text.js': `export const text = 'before'`,
      'webpack.config.mjs': `export default { mode: 'development', devServer: { allowedHosts: ['${HOST}'], static: 'public' } }`,
    },
    edited: 'src/text.js',
    command: (port) => ['webpack', 'serve', '--host', '127.0.0.1', '--port', String(port)],
  },
  {
    name: 'Next',
    packages: [...REACT, 'next@16.4.6'],
    files: {
      'app/layout.jsx': `export default ({ children }) => <html><body>{children}</body></html>`,
      // Shows its text when it is live in the browser: changes before that are not followed.
      'app/page.jsx': `'use client'
import { useEffect, useState } from 'react'
export default function Page() {
  const [isLive, setLive] = useState(false)
  useEffect(() => setLive(true), [])
  return <h1>{isLive && 'before'}</h1>
}`,
      'next.config.mjs': `export default { allowedDevOrigins: ['${HOST}'], turbopack: { root: new URL('..', import.meta.url).pathname } }`,
    },
    edited: 'app/page.jsx',
    command: (port) => ['next', 'dev', '--hostname', '127.0.0.1', '--port', String(port)],
  },
]

/** Opens the page, changes its source and waits until the page shows that. */
async function edit(t: TestContext, { url }: Use, file: string) {
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await browser.newPage({ ignoreHTTPSErrors: true })
  const waitForHeading = (text: string) =>
    page.locator('h1', { hasText: text }).waitFor({ timeout: TIMEOUT_MS })
  // The server tells of changes over this; it begins with a greeting.
  const isConnected = page
    .waitForEvent('websocket', { timeout: TIMEOUT_MS })
    .then((socket) => socket.waitForEvent('framereceived', { timeout: TIMEOUT_MS }))
  await page.goto(url, { timeout: 120_000 })
  await waitForHeading('before')
  await isConnected
  await page.evaluate('window.loadedOnce = true')
  writeFileSync(file, readFileSync(file, 'utf8').replace('before', 'after'))
  await waitForHeading('after')
  return { changedInPlace: await page.evaluate<boolean>('window.loadedOnce === true') }
}

for (const { name, packages, files, edited, command } of SERVERS)
  test(`hot reload: a change to the source of ${name} shows in the open page`, {
    skip: missingPrograms('chromium-headless-shell'),
  }, async (t) => {
    const programs = await installNpm(t, ...packages)
    if (programs === undefined) return
    let dir = ''
    const seen = await assertSameUse(
      t,
      async () => {
        // Beside the packages, where the sources find them.
        dir = mkdtempSync(join(programs.dir, 'app-'))
        const written = dir
        t.after(() => rmSync(written, { recursive: true, force: true, maxRetries: 10 }))
        for (const [file, content] of Object.entries(files)) {
          mkdirSync(dirname(join(dir, file)), { recursive: true })
          writeFileSync(join(dir, file), content)
        }
        const port = await findFreePorts(1)
        const [program, ...args] = command(port)
        const path = join(programs.dir, 'node_modules', '.bin', program)
        await startServiceProgram(t, ['env', `--chdir=${dir}`, path, ...args], {
          port,
          env: { NEXT_TELEMETRY_DISABLED: '1' },
        })
        return port
      },
      (use) => edit(t, use, join(dir, edited)),
    )
    if (seen !== undefined) assert.deepEqual(seen, { changedInPlace: true })
  })
