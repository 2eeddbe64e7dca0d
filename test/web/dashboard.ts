import type { TestContext } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { openPage, startBrowser } from './browser.ts'

/** A platform and a browser for all tests of a file. */
export interface TestDashboard {
  readonly platform: TestPlatform
  readonly browser: Browser
  /** Where the pages are. */
  readonly url: string
  /** A user of the account, with a password. */
  makeUser(
    role: 'admin' | 'developer' | 'read_only',
  ): Promise<{ id: string; email: string; password: string }>
  /** A page of somebody who signed in with the API key of the first start. */
  open(
    t: TestContext,
    path: string,
    options?: BrowserContextOptions,
  ): Promise<{ page: Page; wrong: string[]; asked: Set<string> }>
  stop(): Promise<void>
}

let users = 0

/** Starts both; `stop` belongs into the file's `after`. */
export async function startDashboard(flags: string[] = []): Promise<TestDashboard> {
  const cleanups: (() => unknown)[] = []
  const t = { after: (cleanup: () => unknown) => cleanups.push(cleanup) } as unknown as TestContext
  const platform = await startPlatform(t, flags)
  const browser = await startBrowser('dashboard')
  const { api_url, api_key } = platform.credentials
  const url = `${api_url}/dashboard/`
  let kept: Awaited<ReturnType<typeof signedInState>> | undefined

  /** Signing in takes its time, so it is done once and the cookie is kept. */
  async function signedInState() {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(url)
    await signInWithKey(page, api_key)
    const state = await context.storageState()
    await context.close()
    return state
  }

  return {
    platform,
    browser,
    url,
    async makeUser(role) {
      const email = `${role}-${++users}@example.com`
      const { id } = await platform.call.create('/users', { email, role, name: `The ${role}` })
      const { body } = await platform.call('PUT', `/dashboard/api/users/${id}/password`)
      return { id, email, password: body.password }
    },
    async open(t, path, options = {}) {
      kept ??= await signedInState()
      const opened = await openPage(t, browser, `${url}#${path}`, { storageState: kept, ...options })
      await opened.page.locator('.shell').waitFor()
      return opened
    },
    async stop() {
      await browser.close()
      for (const cleanup of cleanups.reverse()) await cleanup()
    },
  }
}

/** Signs in on the sign-in page. */
export async function signInWithKey(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Use an API key instead' }).click()
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('.shell').waitFor()
}

/** Gives email and password on the sign-in page. */
export async function givePassword(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Goes to a page of the dashboard without loading everything anew. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(path)}`)
}
