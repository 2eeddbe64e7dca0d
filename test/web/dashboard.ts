import type { TestContext } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { openPage, startBrowser, waitInPage } from './browser.ts'

/** A platform and a browser, shared by all tests of a file. */
export interface TestDashboard {
  readonly platform: TestPlatform
  readonly browser: Browser
  /** The URL of the dashboard. */
  readonly url: string
  /** Creates a user of the account with a password. */
  createUser(
    role: 'admin' | 'developer' | 'read_only',
  ): Promise<{ id: string; email: string; password: string }>
  /** Opens a page, signed in with the API key created at first start. */
  open(
    t: TestContext,
    path: string,
    options?: BrowserContextOptions,
  ): Promise<{ page: Page; pageErrors: string[]; requestedOrigins: Set<string> }>
  stop(): Promise<void>
}

let users = 0

/** Starts a platform and a browser; call `stop` in the file's `after`. Nothing runs on if the start fails. */
export async function startDashboard(flags: string[] = []): Promise<TestDashboard> {
  await using starting = new AsyncDisposableStack()
  const t = { after: (cleanup: () => Promise<void>) => starting.defer(cleanup) } as unknown as TestContext
  const platform = await startPlatform(t, flags)
  const browser = starting.adopt(await startBrowser('dashboard'), (running) => running.close())
  const { api_url, api_key } = platform.credentials
  const url = `${api_url}/dashboard/`
  let storageState: Awaited<ReturnType<typeof signInOnce>> | undefined

  /** Signs in once and reuses the cookie, because password hashing is slow. */
  async function signInOnce() {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(url)
    await signInWithKey(page, api_key)
    const state = await context.storageState()
    await context.close()
    return state
  }

  const started = starting.move()
  return {
    platform,
    browser,
    url,
    async createUser(role) {
      const email = `${role}-${++users}@example.com`
      const { id } = await platform.call.create('/users', { email, role, name: `The ${role}` })
      const { body } = await platform.call('PUT', `/dashboard/api/users/${id}/password`)
      return { id, email, password: body.password }
    },
    async open(t, path, options = {}) {
      storageState ??= await signInOnce()
      const opened = await openPage(t, browser, `${url}#${path}`, { storageState: storageState, ...options })
      await opened.page.locator('.shell').waitFor()
      return opened
    },
    stop: () => started.disposeAsync(),
  }
}

/** Signs in on the sign-in page. */
export async function signInWithKey(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Use an API key instead' }).click()
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('.shell').waitFor()
}

/** Submits email and password on the sign-in page. */
export async function submitPassword(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Navigates to a page of the dashboard without a reload. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(path)}`)
}

/** The same from a form in which something was typed, which is lost. */
export async function discardAndGoTo(page: Page, path: string): Promise<void> {
  await goTo(page, path)
  const question = page.getByRole('dialog', { name: 'Discard what you typed?' })
  await question.getByRole('button', { name: 'Discard' }).click()
}

/** The same as `goTo`, and waits until the page has its heading and its data. */
export async function goToLoaded(page: Page, path: string): Promise<void> {
  const hash = JSON.stringify(`#${path}`)
  // The first frame after the event shows the page or that it is loading.
  await page.evaluate(`new Promise((done) => {
    const nextFrame = () => requestAnimationFrame(() => setTimeout(done))
    if (location.hash === ${hash}) return nextFrame()
    addEventListener('hashchange', nextFrame, { once: true })
    location.hash = ${hash}
  })`)
  await waitInPage(
    page,
    `location.hash === ${hash} && document.querySelector('main h1') && !document.querySelector('main .loading')`,
  )
}
