import { BACKEND_KIND_TEXTS, type BackendKind } from '../backends/kinds.ts'

/** The verb of a call that succeeded, and of one that was rejected. */
type Wording = readonly [done: string, tried: string]

const VERBS: Readonly<Record<string, Wording>> = {
  create: ['Created', 'create'],
  update: ['Changed', 'change'],
  delete: ['Deleted', 'delete'],
  replace: ['Changed', 'change'],
  detach: ['Detached', 'detach'],
  restart: ['Restarted', 'restart'],
  stop: ['Stopped', 'stop'],
  send_test_event: ['Tested', 'test'],
  // Reads are recorded where they show secrets.
  list: ['Viewed secrets of', 'view secrets of'],
  get: ['Viewed secrets of', 'view secrets of'],
}

const DASHBOARD_ACTIONS: Readonly<Record<string, Wording>> = {
  sign_in: ['Signed in to the dashboard', 'sign in to the dashboard'],
  sign_in_with_recovery_code: ['Signed in with a recovery code', 'sign in with a recovery code'],
  sign_out: ['Signed out of the dashboard', 'sign out of the dashboard'],
  make_password: ['Generated a password', 'generate a password'],
  make_password_link: ['Created a link to set a password', 'create a link to set a password'],
  set_password: ['Set a password with a link', 'set a password with a link'],
  change_password: ['Changed a password', 'change a password'],
  invite_user: ['Invited a user with a link', 'invite a user with a link'],
  offer_second_factor: ['Started to set up a second factor', 'set up a second factor'],
  confirm_second_factor: ['Switched the second factor on', 'switch the second factor on'],
  remove_second_factor: ['Switched the second factor off', 'switch the second factor off'],
  renew_recovery_codes: ['Created new recovery codes', 'create new recovery codes'],
}

/** Words of the names of resources that read otherwise. */
const WORDS: Readonly<Record<string, string>> = { kubernetes: 'Kubernetes', addr: 'address' }

export interface AuditedAction {
  readonly kind: string
  readonly action: string
  readonly outcome: string
}

const ACRONYMS = /\b(ip|tls|ssh|https?|tcp|api|oidc|saml|dns)\b/gi

/**
 * `Created reserved domain` for `create` and `reserved_domains`, `Tried to create reserved domain` where it was rejected; an
 * unknown action is only humanized.
 */
export function describeAction({ kind, action, outcome }: AuditedAction): string {
  const isDone = outcome === 'done'
  const word = ([done, tried]: Wording) => (isDone ? done : `Tried to ${tried}`)
  const steps = action.split('.')
  const verb = VERBS[steps.at(-1)!]
  if (verb === undefined)
    return DASHBOARD_ACTIONS[action] ? word(DASHBOARD_ACTIONS[action]) : toSentence(action)
  const modules = steps.slice(0, -1).map((step) => ` (${step})`)
  const object = `${singular(kind)}${modules.join('')}`.replaceAll('_', ' ')
  return `${word(verb)} ${object
    .replace(ACRONYMS, (word) => word.toUpperCase())
    .replace(/\b(kubernetes|addr)\b/g, (word) => WORDS[word]!)}`
}

function singular(kind: string): string {
  if (kind.startsWith('edges_')) {
    const [, which, routes] = kind.split('_')
    return routes === undefined ? `${which} edge` : `route of ${which} edge`
  }
  if (kind.startsWith('backends_')) {
    const which = kind.slice('backends_'.length)
    return `${BACKEND_KIND_TEXTS[which as BackendKind]?.title.toLowerCase() ?? which} backend`
  }
  if (kind.endsWith('sses')) return kind.slice(0, -2)
  return kind.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
}

function toSentence(action: string): string {
  const words = action.replaceAll(/[_.]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
