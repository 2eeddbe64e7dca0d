import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startApi } from '../support/api.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** Requests a path exactly as written, unlike `fetch`, and returns the status. */
function getStatus(url: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    request({ hostname, port, path, method: 'GET' }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}

async function start(t: TestContext) {
  const root = createTempDir()
  const pages = join(root, 'dashboard')
  await mkdir(join(pages, 'assets'), { recursive: true })
  await writeFile(join(pages, 'index.html'), '<!doctype html><title>built</title>')
  await writeFile(join(pages, 'assets', 'main-x1.js'), 'void 0')
  await writeFile(join(root, 'secret.txt'), 'secret')
  await writeFile(join(pages, 'secret.txt'), 'secret')
  return startApi(t, { dashboard: true, pages })
}

test('browsers are redirected to the dashboard, other clients get the API', async (t) => {
  const { url } = await start(t)
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'

  const browser = await fetch(url, { headers: { accept }, redirect: 'manual' })
  const program = await fetch(url, { headers: { accept: 'application/json' } })
  const withoutSlash = await fetch(`${url}/dashboard`, { redirect: 'manual' })

  assert.equal(browser.status, 302)
  assert.equal(browser.headers.get('location'), '/dashboard/')
  assert.equal(program.status, 401)
  assert.equal(((await program.json()) as { error_code: string }).error_code, 'ERR_ADIT_200')
  assert.equal(withoutSlash.headers.get('location'), '/dashboard/')
})

test('the page has a strict content security policy, and its assets are cached forever', async (t) => {
  const { url } = await start(t)

  const page = await fetch(`${url}/dashboard/`)
  const file = await fetch(`${url}/dashboard/assets/main-x1.js`)

  assert.match(await page.text(), /built/)
  assert.equal(
    page.headers.get('content-security-policy'),
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types error-page-preview",
  )
  for (const { headers } of [page, file]) {
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
  }
  assert.equal(page.headers.get('cache-control'), 'no-cache')
  assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.equal(file.headers.get('content-type'), 'text/javascript; charset=utf-8')
})

test('no file outside the assets is served, however the path is encoded', async (t) => {
  const { url } = await start(t)
  const paths = [
    '../secret.txt',
    '..%2fsecret.txt',
    '%2e%2e%2fsecret.txt',
    '%2e%2e/secret.txt',
    '..%5csecret.txt',
    '....//secret.txt',
    '%00',
    'main-x1.js%00.css',
    '.',
    '..',
    'none.js',
    '%',
  ]

  for (const path of paths) {
    const status = await getStatus(url, `/dashboard/assets/${path}`)
    assert.ok(status === 404 || status === 400, `${path}: ${status}`)
  }
  assert.equal(await getStatus(url, '/dashboard/secret.txt'), 404)
})

test('a dashboard that is not built says how to build it', async (t) => {
  const { url } = await startApi(t, { dashboard: true, pages: join(createTempDir(), 'none') })

  const page = await fetch(`${url}/dashboard/`)

  assert.equal(page.status, 200)
  assert.match(await page.text(), /npm run pages/)
})
