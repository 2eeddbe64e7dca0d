import type { TestContext } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { launchChromium, openPage } from '../../web/browser.ts'
import type { ShownRequest } from './protected-pages.ts'

/** Who signs in at a provider. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Starts Chromium for the pages of a platform, whose private authority it does not know. */
export async function startSignInBrowser(t: TestContext): Promise<Browser> {
  const browser = await launchChromium([
    '--ignore-certificate-errors',
    '--host-resolver-rules=MAP *.adit.localhost 127.0.0.1',
  ])
  t.after(() => browser.close())
  return browser
}

/** Opens a page as a visitor who is signed in nowhere. */
export async function openAsStranger(t: TestContext, browser: Browser, url: string): Promise<Page> {
  const { page } = await openPage(t, browser, url, { ignoreHTTPSErrors: true })
  return page
}

/** Opens a page as such a visitor and signs in on the provider's page. */
export async function signIn(
  t: TestContext,
  browser: Browser,
  url: string,
  credentials: Credentials,
): Promise<Page> {
  const page = await openAsStranger(t, browser, url)
  await submitCredentials(page, credentials)
  return page
}

/** Fills the sign-in form of a provider and submits it. */
export async function submitCredentials(page: Page, { username, password }: Credentials): Promise<void> {
  const form = await waitForSignInForm(page)
  await page.locator('input[name=username], input[name=login]').fill(username)
  await form.fill(password)
  await form.press('Enter')
}

/** Waits for the provider to ask who the visitor is; returns its field for the password. */
export async function waitForSignInForm(page: Page): Promise<Locator> {
  return waitForElement(page, 'input[type=password]')
}

/** Waits for the page behind a sign-in, and returns the request that it shows. */
export async function readShownRequest(page: Page): Promise<ShownRequest> {
  return JSON.parse((await (await waitForElement(page, '#request')).textContent()) ?? '')
}

/** Waits for an error page of the platform, and returns its code. */
export async function readErrorCode(page: Page): Promise<string | null> {
  return (await waitForElement(page, 'footer code')).textContent()
}

/** Waits for a text, on a page of the platform or of a provider. */
export async function waitForText(page: Page, text: string): Promise<void> {
  await waitForElement(page, `text=${text}`)
}

/** Waits for an element; a failure says what the visitor sees instead. */
async function waitForElement(page: Page, selector: string): Promise<Locator> {
  const element = page.locator(selector).first()
  try {
    await element.waitFor()
  } catch (cause) {
    const shown = await page.locator('body').ariaSnapshot()
    throw new Error(`${page.url()}: no ${selector} in\n${shown}`, { cause })
  }
  return element
}
