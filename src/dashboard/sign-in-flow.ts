import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem } from '../api/index.ts'
import type { Auth } from '../auth/index.ts'
import { type Attempts, createAttempts } from '../base/attempt-limit.ts'
import { sourceOf } from '../base/client-key.ts'
import type { Clock } from '../base/clock.ts'
import { plainAddress } from '../base/ip-rules.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import type { Store } from '../store/index.ts'
import { auditRecord } from './audit-record.ts'
import type { BrowserSessions, CurrentSession } from './browser-sessions.ts'
import { type Passwords, TooBusy } from './passwords.ts'
import { acceptedStep } from './second-factor.ts'
import type { SignIn, SignIns } from './sign-in-store.ts'

// Generous to somebody who mistypes, hopeless for somebody who guesses.
const PER_USER = { burst: 10, perMinute: 1 }
const PER_SOURCE = { burst: 30, perMinute: 6 }
// Guessing must not fill the audit log either.
const AUDITED = { burst: 20, perMinute: 5 }
const BUSY_SECONDS = 5
// Decision 149: the time of a sign-in must not tell how many accounts know the address, so the work does not depend on it.
const CHECKS_PER_BATCH = 4

/** What somebody signs in with. */
export type Proof =
  | { readonly email: string; readonly password: string; readonly code?: string | undefined }
  | { readonly api_key: string }

/** Limits on what can be tried in vain. */
export interface Limits {
  readonly users: Attempts
  readonly sources: Attempts
  readonly audited: Attempts
}

export function createLimits(clock: Clock): Limits {
  return {
    users: createAttempts({ ...PER_USER, clock }),
    sources: createAttempts({ ...PER_SOURCE, clock }),
    audited: createAttempts({ ...AUDITED, clock }),
  }
}

/** The key under which attempts for a user are counted, whether or not there is such a user. */
export function userKey(email: string): string {
  return email.toLowerCase()
}

/** Refuses for so many seconds. */
export function tooMany(reply: FastifyReply, seconds: number): void {
  if (seconds === 0) return
  reply.header('retry-after', String(seconds))
  throw problem('too_many_requests', seconds)
}

/** Waits for a password to be checked, or says when to come again. */
export function orBusy<T>(reply: FastifyReply, work: Promise<T>, onBusy = () => {}): Promise<T> {
  return work.catch((error) => {
    if (!(error instanceof TooBusy)) throw error
    onBusy()
    reply.header('retry-after', String(BUSY_SECONDS))
    throw problem('too_many_requests', BUSY_SECONDS)
  })
}

/** Signs people in: finds out who they are and opens a session for them. */
export function createSignIn({
  store,
  auth,
  signIns,
  passwords,
  sessions,
  limits,
  admits,
  clock,
  log,
}: {
  store: Store
  auth: Auth
  signIns: SignIns
  passwords: Passwords
  sessions: BrowserSessions
  limits: Limits
  admits: (accountId: string, address: string) => boolean
  clock: Clock
  log: Logger
}) {
  type Opened = Promise<{ token: Secret; current: CurrentSession }>
  const { users, sources, audited } = limits

  /** Leaves a record with the accounts that were tried, if any. Nobody waits for it: that would tell that there are. */
  function recordFailure(request: FastifyRequest, tried: readonly SignIn[], refused: string): void {
    const { ip, id } = request
    log.warn({ ip, id, users: tried.map(({ userId }) => userId), refused }, 'sign-in refused')
    for (const { account, userId } of tried) {
      if (audited.take(account) > 0) continue
      const action = 'sign_in'
      const entry = { account, principal: userId, credential: undefined, action, object: userId, refused }
      store
        .write({}, (tx) => tx.audit(auditRecord(request, entry)))
        .catch((error) => log.warn({ err: error, id }, 'a refused sign-in could not be recorded'))
    }
  }

  async function whoKnows(password: string, candidates: readonly SignIn[]): Promise<SignIn | undefined> {
    const batches = Math.max(1, Math.ceil(candidates.length / CHECKS_PER_BATCH))
    let found: SignIn | undefined
    for (let check = 0; check < batches * CHECKS_PER_BATCH; check += 1) {
      const candidate = candidates[check]
      if (await passwords.matches(password, candidate?.password)) found ??= candidate
    }
    return found
  }

  function requireAdmitted(request: FastifyRequest, account: string): void {
    const address = plainAddress(request.ip)
    if (!admits(account, address)) throw problem('address_refused', address)
  }

  async function open(
    request: FastifyRequest,
    id: string,
    who: { account: string; owner: string; apiKey: string | undefined },
  ): Opened {
    // Never the session that the browser came with: whoever planted that would be signed in too.
    await sessions.close(request.headers)
    const opened = await sessions.open(id, who)
    log.info({ account: who.account, user: who.owner, session: id, ip: request.ip }, 'signed in')
    return opened
  }

  async function withPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { email, password, code }: { email: string; password: string; code?: string | undefined },
  ): Opened {
    const [user, source] = [userKey(email), sourceOf(request.ip)]
    tooMany(reply, sources.take(source))
    const wait = users.take(user)
    if (wait > 0) sources.giveBack(source)
    tooMany(reply, wait)
    const notInVain = () => {
      users.giveBack(user)
      sources.giveBack(source)
    }

    const candidates = await signIns.withEmail(email)
    const found = await orBusy(reply, whoKnows(password, candidates), notInVain)
    if (found === undefined) {
      recordFailure(request, candidates, 'wrong password')
      throw problem('sign_in_failed')
    }
    const { account, userId } = found
    if (!(await auth.owner(account, userId)).active) throw problem('inactive')
    requireAdmitted(request, account)
    if (found.secondFactor !== undefined && code === undefined) {
      notInVain()
      throw problem('code_needed').with({ code_needed: 'true' })
    }

    const id = sessions.newId()
    const entry = { account, principal: userId, credential: undefined, action: 'sign_in', object: id }
    const audit = auditRecord(request, entry)
    if (!(await record(found, code, audit))) {
      recordFailure(request, [found], 'wrong code')
      throw problem('code_wrong').with({ code_needed: 'true' })
    }
    notInVain()
    const opened = await open(request, id, { account, owner: userId, apiKey: undefined })
    // Whoever changed the password meanwhile has ended the sessions there were, and must not find this one later.
    if ((await signIns.ofUser(account, userId))?.password !== found.password) {
      await sessions.closeToken(opened.token)
      throw problem('sign_in_failed')
    }
    return opened
  }

  /** Records the sign-in and uses up its code, both or neither; false when the code does not count. */
  async function record(
    { account, userId, secondFactor }: SignIn,
    code: string | undefined,
    audit: ReturnType<typeof auditRecord>,
  ): Promise<boolean> {
    if (secondFactor === undefined) {
      await store.write({}, (tx) => tx.audit(audit))
      return true
    }
    const used = await signIns.change({ account, id: userId }, audit, (before) => {
      if (before?.secondFactor === undefined || code === undefined) return undefined
      const step = acceptedStep(before.secondFactor, code, { now: clock.now(), usedStep: before.usedStep })
      return step === undefined ? undefined : { ...before, usedStep: step }
    })
    return used !== undefined
  }

  async function withApiKey(request: FastifyRequest, reply: FastifyReply, key: string): Opened {
    const source = sourceOf(request.ip)
    tooMany(reply, sources.take(source))
    const principal = await auth.apiKey(key)
    if (principal === undefined)
      throw problem((await auth.authtoken(key)) === undefined ? 'unknown_key' : 'authtoken_as_key')
    sources.giveBack(source)
    const { accountId: account, ownerId, credentialId } = principal
    if (!principal.active) throw problem('inactive')
    requireAdmitted(request, account)
    const id = sessions.newId()
    const entry = { account, principal: ownerId, credential: credentialId, action: 'sign_in', object: id }
    await store.write({}, (tx) => tx.audit(auditRecord(request, entry)))
    return open(request, id, { account, owner: ownerId, apiKey: credentialId })
  }

  return (request: FastifyRequest, reply: FastifyReply, proof: Proof): Opened =>
    'api_key' in proof ? withApiKey(request, reply, proof.api_key) : withPassword(request, reply, proof)
}
