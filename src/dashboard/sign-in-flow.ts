import type { FastifyReply, FastifyRequest } from 'fastify'
import { fieldProblem, problem } from '../api/index.ts'
import { type Auth, isTokenShaped, tokenDigest } from '../auth/index.ts'
import { type AttemptLimit, createAttemptLimit } from '../base/attempt-limit.ts'
import { clientKey } from '../base/client-key.ts'
import type { Clock } from '../base/clock.ts'
import { plainAddress } from '../base/ip-rules.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import type { Store } from '../store/index.ts'
import { auditRecord } from './audit-record.ts'
import type { BrowserSessions, CurrentSession } from './browser-sessions.ts'
import { PasswordQueueFull, type Passwords, validatePassword } from './passwords.ts'
import { redeemRecoveryCode } from './recovery-codes.ts'
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
  /** The token of a one-time link, and the password to set. */
  | { readonly link: string; readonly password: string }

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

/** Creates the sign-in, which verifies credentials and opens sessions. */
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
    const updated = await signIns.change({ account, id: userId }, audit, (current, setAction) => {
      if (current?.secondFactor === undefined || code === undefined) return undefined
      const step = verifyCode(current.secondFactor, code, { now: clock.now(), usedStep: current.usedStep })
      if (step !== undefined) return { ...current, usedStep: step }
      const recoveryCodes = redeemRecoveryCode(current.recoveryCodes ?? [], code)
      if (recoveryCodes === undefined) return undefined
      setAction('sign_in_with_recovery_code')
      return { ...current, recoveryCodes }
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

  /** Sets the password that the user chose and consumes the link, in one transaction. */
  async function withLink(
    request: FastifyRequest,
    reply: FastifyReply,
    { link, password }: { link: string; password: string },
  ): OpenedSession {
    const client = clientKey(request.ip)
    rejectIfLimited(reply, clients.take(client))
    const { account, userId } = await requireLink(link)
    clients.refund(client)
    const message = validatePassword(password)
    if (message !== undefined) throw fieldProblem('password', 'invalid_field', message)
    if (!(await auth.owner(account, userId)).active) throw problem('inactive')
    requireAdmitted(request, account)

    const hashed = await rejectIfBusy(reply, passwords.hash(password))
    const entry = {
      account,
      principal: userId,
      credential: undefined,
      action: 'set_password',
      object: userId,
    }
    const updated = await signIns.change({ account, id: userId }, auditRecord(request, entry), (current) =>
      current !== undefined && isLinkValid(current, tokenDigest(link), clock.now())
        ? // As after a reset by the operator: who lost a password may have lost the device too.
          {
            ...current,
            password: hashed,
            secondFactor: undefined,
            pendingSecondFactor: undefined,
            recoveryCodes: undefined,
            link: undefined,
          }
        : undefined,
    )
    if (updated === undefined) throw problem('link_invalid')
    await sessions.closeAll(userId)
    return open(request, sessions.newId(), { account, owner: userId, apiKey: undefined })
  }

  /** The record of a link that can still be used. */
  async function requireLink(token: string): Promise<SignInRecord> {
    const digest = tokenDigest(token)
    const record = isTokenShaped(token) ? await signIns.findByLink(digest) : undefined
    if (record === undefined || !isLinkValid(record, digest, clock.now())) throw problem('link_invalid')
    return record
  }

  return {
    signIn(request: FastifyRequest, reply: FastifyReply, proof: Proof): OpenedSession {
      if ('api_key' in proof) return withApiKey(request, reply, proof.api_key)
      return 'link' in proof ? withLink(request, reply, proof) : withPassword(request, reply, proof)
    },
    /** The email address of the user that a link is for. */
    async inspectLink(request: FastifyRequest, reply: FastifyReply, token: string): Promise<string> {
      const client = clientKey(request.ip)
      rejectIfLimited(reply, clients.take(client))
      const { email } = await requireLink(token)
      clients.refund(client)
      return email
    },
  }
}

function isLinkValid({ link }: SignInRecord, digest: string, now: number): boolean {
  return link !== undefined && link.digest === digest && now < link.expiresAt
}
