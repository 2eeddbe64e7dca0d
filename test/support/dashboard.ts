import { newId } from '../../src/base/values/id.ts'
import { assignNewPassword } from '../../src/dashboard/sign-in/password-generator.ts'
import { type CallOptions, cheapPasswords, createClient, type TestApi, type TestResponse } from './api.ts'

/** A minimal browser session: its cookie and its CSRF token. */
export interface TestBrowser {
  /** The `Cookie` header, once signed in. */
  cookie: string | undefined
  csrf: string | undefined
  signIn(proof: unknown, headers?: Record<string, string>): Promise<TestResponse>
  /** A call as the dashboard's pages make it. */
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>
}

/** A browser that is not signed in. */
export function openBrowser(url: string): TestBrowser {
  const send = createClient(url, undefined)
  const browser: TestBrowser = {
    cookie: undefined,
    csrf: undefined,
    async signIn(body, headers = {}) {
      const cookie = browser.cookie === undefined ? {} : { cookie: browser.cookie }
      const response = await send('POST', '/dashboard/api/session', {
        body,
        headers: { ...cookie, ...headers },
      })
      const [setCookie] = response.headers.getSetCookie()
      if (response.status === 200) {
        browser.cookie = setCookie!.split(';')[0]!
        browser.csrf = response.body.csrf
      }
      return response
    },
    call: (method, path, options = {}) =>
      send(method, path, {
        ...options,
        headers: {
          ...(browser.cookie !== undefined && { cookie: browser.cookie }),
          ...(browser.csrf !== undefined && { 'x-csrf-token': browser.csrf }),
          ...options.headers,
        },
      }),
  }
  return browser
}

/** Creates a user with a password in the test's account. */
export async function createUser(
  api: TestApi,
  { role = 'admin', email = `${newId('u').toLowerCase()}@example.com` } = {},
): Promise<{ id: string; email: string; password: string }> {
  const { id } = await api.call.create('/users', { email, role })
  const account = api.account.accountId
  const password = await assignNewPassword(
    { store: api.store, passwords: cheapPasswords },
    { account, id, email },
    {
      account,
      principal: undefined,
      credential: undefined,
      source: undefined,
      requestId: newId('op'),
      action: 'make_password',
      kind: 'dashboard',
      object: id,
      outcome: 'done',
    },
  )
  return { id, email, password: password.reveal() }
}
