/**
 * The dashboard's server side, mounted on the API's server: `sign-in/` signs people in and keeps their browser sessions
 * and credentials, `views/` is what pages need beside the management API, `policy/` checks and tries policies in worker
 * threads. The pages themselves are in `src/web`. Begin with `createDashboard` below.
 */
import type { Api, BrowserAuth } from '../api/index.ts'
import type { Auth, IpRestrictions } from '../auth/index.ts'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import type { DurableStore } from '../store/index.ts'
import { BUILT_PAGES, mountPages } from './pages.ts'
import { createBrowserSessions } from './sign-in/browser-sessions.ts'
import { mountCredentials } from './sign-in/credential-routes.ts'
import { createPasswords, type Passwords } from './sign-in/passwords.ts'
import { mountSession } from './sign-in/session-routes.ts'
import { SignInFlow } from './sign-in/sign-in-flow.ts'
import { createSignInLimits } from './sign-in/sign-in-limits.ts'
import { createSignInStore } from './sign-in/sign-in-store.ts'
import { mountListFacts } from './views/list-facts.ts'

export {
  type CreatedAccount,
  createAccountWithPassword,
  createPasswordLink,
  findUsersByEmail,
  resetPassword,
} from './sign-in/create-account.ts'
export { createPasswords, type Passwords, type ScryptCost } from './sign-in/passwords.ts'
export { createChangeTracker } from './views/changes.ts'
export { mountViews } from './views/views.ts'

/** The dashboard: its pages on the API's listener, and the sign-in that authenticates them. */
export interface Dashboard {
  /** Authenticates browsers for the API. */
  readonly browserAuth: BrowserAuth
  /** Mounts the pages and the dashboard's own routes beside those of the API. */
  mount(api: Api): void
}

export function createDashboard({
  store,
  auth,
  restrictions,
  listenerUrl,
  clock,
  log,
  passwords = createPasswords(),
  pages = BUILT_PAGES,
}: {
  store: DurableStore
  auth: Auth
  restrictions: Pick<IpRestrictions, 'admits'>
  /** The URL of the API's listener, or of the proxy in front of it. */
  listenerUrl: () => string
  clock: Clock
  log: Logger
  passwords?: Passwords
  /** The directory of the built pages. */
  pages?: string
}): Dashboard {
  // The pages call the API, so its restrictions apply to them too.
  const admits = (account: string, address: string) =>
    restrictions.admits(account, 'dashboard', address) && restrictions.admits(account, 'api', address)
  const sessions = createBrowserSessions({ store, auth, admits, listenerUrl, clock, log })
  const signIns = createSignInStore({ store })
  const limits = createSignInLimits(clock)
  const signInFlow = new SignInFlow({
    store,
    auth,
    signIns,
    passwords,
    sessions,
    limits,
    admits,
    clock,
    log,
  })

  return {
    browserAuth: sessions,
    mount(api) {
      mountPages(api.http, pages)
      mountSession(api, { store, sessions, signIns, signInFlow, listenerUrl })
      mountListFacts(api, { store, sessions })
      mountCredentials(api, { store, sessions, signIns, passwords, limits, listenerUrl, clock })
    },
  }
}
