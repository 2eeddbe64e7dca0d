import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem } from '../api/index.ts'
import type { Auth } from '../auth/index.ts'
import { type AttemptLimit, createAttemptLimit } from '../base/attempt-limit.ts'
import { clientKey } from '../base/client-key.ts'
import type { Clock } from '../base/clock.ts'
import { plainAddress } from '../base/ip-rules.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import type { Store } from '../store/index.ts'
import { auditRecord } from './audit-record.ts'
import type { BrowserSessions, CurrentSession } from './browser-sessions.ts'
import { PasswordQueueFull, type Passwords } from './passwords.ts'
import { verifyCode } from './second-factor.ts'
import type { SignInRecord, SignInStore } from './sign-in-store.ts'

// Enough for typing mistakes, too few for guessing.
const USER_LIMIT = { burst: 10, perMinute: 1 }
const CLIENT_LIMIT = { burst: 30, perMinute: 6 }
// Guessing must not fill the audit log.
const AUDIT_LIMIT = { burst: 20, perMinute: 5 }
const BUSY_RETRY_SECONDS = 5
// Decision 149: the duration of a sign-in must not reveal how many accounts know the address.
const CHECKS_PER_BATCH = 4

/** The credentials of a sign-in. */
export type Proof =
  | { readonly email: string; readonly password: string; readonly code?: string | undefined }
  | { readonly api_key: string }

/** Limits on failed attempts. */
export interface SignInLimits {
  readonly users: AttemptLimit
  readonly clients: AttemptLimit
  readonly audits: AttemptLimit
}

export function createSignInLimits(clock: Clock): SignInLimits {
  return {
    users: createAttemptLimit({ ...USER_LIMIT, clock }),
    clients: createAttemptLimit({ ...CLIENT_LIMIT, clock }),
    audits: createAttemptLimit({ ...AUDIT_LIMIT, clock }),
  }
}

/** The key for attempts on a user, whether or not the user exists. */
export function userKey(email: string): string {
  return email.toLowerCase()
}

/** Rejects the request if the limiter requires a wait. */
export function rejectIfLimited(reply: FastifyReply, seconds: number): void {
  if (seconds === 0) return
  reply.header('retry-after', String(seconds))
  throw problem('too_many_requests', seconds)
}

/** Turns a full password queue into a 429 response with Retry-After. */
export function rejectIfBusy<T>(reply: FastifyReply, work: Promise<T>, onBusy = () => {}): Promise<T> {
  return work.catch((error) => {
    if (!(error instanceof PasswordQueueFull)) throw error
    onBusy()
    reply.header('retry-after', String(BUSY_RETRY_SECONDS))
    throw problem('too_many_requests', BUSY_RETRY_SECONDS)
  })
}

/** Creates the sign-in: verifies credentials and opens a session. */
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
  signIns: SignInStore
  passwords: Passwords
  sessions: BrowserSessions
  limits: SignInLimits
  admits: (accountId: string, address: string) => boolean
  clock: Clock
  log: Logger
}) {
  type OpenedSession = Promise<{ token: Secret; current: CurrentSession }>
  const { users, clients, audits } = limits

  /** Audits the failure in the accounts that were tried. Not awaited: the delay would reveal that they exist. */
  function recordFailure(request: FastifyRequest, candidates: readonly SignInRecord[], reason: string): void {
    const { ip, id } = request
    log.warn({ ip, id, users: candidates.map(({ userId }) => userId), reason }, 'sign-in failed')
    for (const { account, userId } of candidates) {
      if (audits.take(account) > 0) continue
      const action = 'sign_in'
      const entry = {
        account,
        principal: userId,
        credential: undefined,
        action,
        object: userId,
        rejection: reason,
      }
      store
        .write({}, (tx) => tx.audit(auditRecord(request, entry)))
        .catch((error) => log.warn({ err: error, id }, 'audit record of a failed sign-in not written'))
    }
  }

  async function findByPassword(
    password: string,
    candidates: readonly SignInRecord[],
  ): Promise<SignInRecord | undefined> {
    const batches = Math.max(1, Math.ceil(candidates.length / CHECKS_PER_BATCH))
    let found: SignInRecord | undefined
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
    identity: { account: string; owner: string; apiKey: string | undefined },
  ): OpenedSession {
    // Never reuse the browser's session: an attacker may have planted it (session fixation).
    await sessions.close(request)
    const session = await sessions.open(id, identity)
    log.info({ account: identity.account, user: identity.owner, session: id, ip: request.ip }, 'signed in')
    return session
  }

  async function withPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { email, password, code }: { email: string; password: string; code?: string | undefined },
  ): OpenedSession {
    const [user, client] = [userKey(email), clientKey(request.ip)]
    rejectIfLimited(reply, clients.take(client))
    const wait = users.take(user)
    if (wait > 0) clients.refund(client)
    rejectIfLimited(reply, wait)
    const refundAttempt = () => {
      users.refund(user)
      clients.refund(client)
    }

    const candidates = await signIns.findByEmail(email)
    const found = await rejectIfBusy(reply, findByPassword(password, candidates), refundAttempt)
    if (found === undefined) {
      recordFailure(request, candidates, 'wrong password')
      throw problem('sign_in_failed')
    }
    const { account, userId } = found
    if (!(await auth.owner(account, userId)).active) throw problem('inactive')
    requireAdmitted(request, account)
    if (found.secondFactor !== undefined && code === undefined) {
      refundAttempt()
      throw problem('code_needed').with({ code_needed: 'true' })
    }

    const id = sessions.newId()
    const entry = { account, principal: userId, credential: undefined, action: 'sign_in', object: id }
    const audit = auditRecord(request, entry)
    if (!(await recordSignIn(found, code, audit))) {
      recordFailure(request, [found], 'wrong code')
      throw problem('code_wrong').with({ code_needed: 'true' })
    }
    refundAttempt()
    const session = await open(request, id, { account, owner: userId, apiKey: undefined })
    // A concurrent password change has ended the existing sessions; this one must not survive it.
    if ((await signIns.findByUser(account, userId))?.password !== found.password) {
      await sessions.closeToken(session.token)
      throw problem('sign_in_failed')
    }
    return session
  }

  /** Audits the sign-in and consumes its code in one transaction; false when the code is invalid. */
  async function recordSignIn(
    { account, userId, secondFactor }: SignInRecord,
    code: string | undefined,
    audit: ReturnType<typeof auditRecord>,
  ): Promise<boolean> {
    if (secondFactor === undefined) {
      await store.write({}, (tx) => tx.audit(audit))
      return true
    }
    const updated = await signIns.change({ account, id: userId }, audit, (current) => {
      if (current?.secondFactor === undefined || code === undefined) return undefined
      const step = verifyCode(current.secondFactor, code, { now: clock.now(), usedStep: current.usedStep })
      return step === undefined ? undefined : { ...current, usedStep: step }
    })
    return updated !== undefined
  }

  async function withApiKey(request: FastifyRequest, reply: FastifyReply, key: string): OpenedSession {
    const client = clientKey(request.ip)
    rejectIfLimited(reply, clients.take(client))
    const principal = await auth.apiKey(key)
    if (principal === undefined)
      throw problem((await auth.authtoken(key)) === undefined ? 'unknown_key' : 'authtoken_as_key')
    clients.refund(client)
    const { accountId: account, ownerId, credentialId } = principal
    if (!principal.active) throw problem('inactive')
    requireAdmitted(request, account)
    const id = sessions.newId()
    const entry = { account, principal: ownerId, credential: credentialId, action: 'sign_in', object: id }
    await store.write({}, (tx) => tx.audit(auditRecord(request, entry)))
    return open(request, id, { account, owner: ownerId, apiKey: credentialId })
  }

  return (request: FastifyRequest, reply: FastifyReply, proof: Proof): OpenedSession =>
    'api_key' in proof ? withApiKey(request, reply, proof.api_key) : withPassword(request, reply, proof)
}
