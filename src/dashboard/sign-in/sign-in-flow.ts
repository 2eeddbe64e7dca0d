import type { FastifyReply, FastifyRequest } from 'fastify'
import { fieldProblem, problem } from '../../api/index.ts'
import { type Auth, isTokenShaped, tokenDigest } from '../../auth/index.ts'
import type { Logger } from '../../base/process/log.ts'
import { clientKey } from '../../base/values/client-key.ts'
import type { Clock } from '../../base/values/clock.ts'
import { plainAddress } from '../../base/values/ip-rules.ts'
import type { Secret } from '../../base/values/secret.ts'
import type { Store } from '../../store/index.ts'
import { auditRecord } from '../audit-record.ts'
import type { BrowserSessions, CurrentSession } from './browser-sessions.ts'
import { type Passwords, validatePassword } from './passwords.ts'
import { redeemRecoveryCode } from './recovery-codes.ts'
import { verifyCode } from './second-factor.ts'
import { rejectIfBusy, rejectIfLimited, type SignInLimits, userKey } from './sign-in-limits.ts'
import { hashPassword, type SignInRecord, type SignInStore } from './sign-in-store.ts'

/** The credentials of a sign-in. */
export type Proof =
  | { readonly email: string; readonly password: string; readonly code?: string | undefined }
  | { readonly api_key: string }
  /** The token of a one-time link, and the password to set. */
  | { readonly link: string; readonly password: string }

/** What a sign-in is checked with and recorded in. */
export interface SignInDependencies {
  readonly store: Store
  readonly auth: Auth
  readonly signIns: SignInStore
  readonly passwords: Passwords
  readonly sessions: BrowserSessions
  readonly limits: SignInLimits
  readonly admits: (accountId: string, address: string) => boolean
  readonly clock: Clock
  readonly log: Logger
}

/** A new session of a browser. */
export interface OpenedSession {
  readonly token: Secret
  readonly current: CurrentSession
}

/** Verifies credentials and opens sessions. */
export class SignInFlow {
  readonly #dependencies: SignInDependencies

  constructor(dependencies: SignInDependencies) {
    this.#dependencies = dependencies
  }

  signIn(request: FastifyRequest, reply: FastifyReply, proof: Proof): Promise<OpenedSession> {
    if ('api_key' in proof) return this.#withApiKey(request, reply, proof.api_key)
    return 'link' in proof ? this.#withLink(request, reply, proof) : this.#withPassword(request, reply, proof)
  }

  /** The email address of the user that a link is for. */
  async inspectLink(request: FastifyRequest, reply: FastifyReply, token: string): Promise<string> {
    const { clients } = this.#dependencies.limits
    const client = clientKey(request.ip)
    rejectIfLimited(reply, clients.take(client))
    const { email } = await this.#requireLink(token)
    clients.refund(client)
    return email
  }

  /** Audits the failure in the accounts that were tried. Not awaited: the delay would reveal that they exist. */
  #recordFailure(request: FastifyRequest, candidates: readonly SignInRecord[], reason: string): void {
    const { log, limits, store } = this.#dependencies
    const { ip, id } = request
    log.warn({ ip, id, users: candidates.map(({ userId }) => userId), reason }, 'sign-in failed')
    for (const { account, userId } of candidates) {
      if (limits.audits.take(account) > 0) continue
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

  #requireAdmitted(request: FastifyRequest, account: string): void {
    const address = plainAddress(request.ip)
    if (!this.#dependencies.admits(account, address)) throw problem('address_refused', address)
  }

  async #open(
    request: FastifyRequest,
    id: string,
    identity: { account: string; owner: string; apiKey: string | undefined },
  ): Promise<OpenedSession> {
    const { sessions, log } = this.#dependencies
    // Never reuse the browser's session: an attacker may have planted it (session fixation).
    await sessions.close(request)
    const session = await sessions.open(id, identity)
    log.info({ account: identity.account, user: identity.owner, session: id, ip: request.ip }, 'signed in')
    return session
  }

  async #withPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { email, password, code }: { email: string; password: string; code?: string | undefined },
  ): Promise<OpenedSession> {
    const { limits, signIns, auth, sessions, passwords } = this.#dependencies
    const [user, client] = [userKey(email), clientKey(request.ip)]
    rejectIfLimited(reply, limits.clients.take(client))
    const wait = limits.users.take(user)
    if (wait > 0) limits.clients.refund(client)
    rejectIfLimited(reply, wait)
    const refundAttempt = () => {
      limits.users.refund(user)
      limits.clients.refund(client)
    }

    const candidates = await signIns.findByEmail(email)
    const check = passwords.find(
      client,
      password,
      candidates.map((candidate) => candidate.password),
    )
    const hash = await rejectIfBusy(reply, check, refundAttempt)
    const found = candidates.find((candidate) => candidate.password === hash)
    if (found === undefined) {
      this.#recordFailure(request, candidates, 'wrong password')
      throw problem('sign_in_failed')
    }
    const { account, userId } = found
    if (!(await auth.owner(account, userId)).active) throw problem('inactive')
    this.#requireAdmitted(request, account)
    if (found.secondFactor !== undefined && code === undefined) {
      refundAttempt()
      throw problem('code_needed').with({ code_needed: 'true' })
    }

    const id = sessions.newId()
    const entry = { account, principal: userId, credential: undefined, action: 'sign_in', object: id }
    const audit = auditRecord(request, entry)
    if (!(await this.#recordSignIn(found, code, audit))) {
      this.#recordFailure(request, [found], 'wrong code')
      throw problem('code_wrong').with({ code_needed: 'true' })
    }
    refundAttempt()
    const session = await this.#open(request, id, { account, owner: userId, apiKey: undefined })
    // A concurrent password change has ended the existing sessions; this one must not survive it.
    if ((await signIns.findByUser(account, userId))?.password !== found.password) {
      await sessions.closeToken(session.token)
      throw problem('sign_in_failed')
    }
    return session
  }

  /** Audits the sign-in and consumes its code in one transaction; false when the code is invalid. */
  async #recordSignIn(
    { account, userId, secondFactor }: SignInRecord,
    code: string | undefined,
    audit: ReturnType<typeof auditRecord>,
  ): Promise<boolean> {
    const { store, signIns, clock } = this.#dependencies
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

  async #withApiKey(request: FastifyRequest, reply: FastifyReply, key: string): Promise<OpenedSession> {
    const { limits, auth, sessions, store } = this.#dependencies
    const client = clientKey(request.ip)
    rejectIfLimited(reply, limits.clients.take(client))
    const principal = await auth.apiKey(key)
    if (principal === undefined)
      throw problem((await auth.authtoken(key)) === undefined ? 'unknown_key' : 'authtoken_as_key')
    limits.clients.refund(client)
    const { accountId: account, ownerId, credentialId } = principal
    if (!principal.active) throw problem('inactive')
    this.#requireAdmitted(request, account)
    const id = sessions.newId()
    const entry = { account, principal: ownerId, credential: credentialId, action: 'sign_in', object: id }
    await store.write({}, (tx) => tx.audit(auditRecord(request, entry)))
    return this.#open(request, id, { account, owner: ownerId, apiKey: credentialId })
  }

  /** Sets the password that the user chose and consumes the link, in one transaction. */
  async #withLink(
    request: FastifyRequest,
    reply: FastifyReply,
    { link, password }: { link: string; password: string },
  ): Promise<OpenedSession> {
    const { limits, auth, passwords, signIns, clock, sessions } = this.#dependencies
    const client = clientKey(request.ip)
    rejectIfLimited(reply, limits.clients.take(client))
    const { account, userId, email } = await this.#requireLink(link)
    limits.clients.refund(client)
    const message = validatePassword(password)
    if (message !== undefined) throw fieldProblem('password', 'invalid_field', message)
    if (!(await auth.owner(account, userId)).active) throw problem('inactive')
    this.#requireAdmitted(request, account)

    const hashed = await rejectIfBusy(reply, hashPassword({ signIns, passwords }, email, password))
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
    return this.#open(request, sessions.newId(), { account, owner: userId, apiKey: undefined })
  }

  /** The record of a link that can still be used. */
  async #requireLink(token: string): Promise<SignInRecord> {
    const { signIns, clock } = this.#dependencies
    const digest = tokenDigest(token)
    const record = isTokenShaped(token) ? await signIns.findByLink(digest) : undefined
    if (record === undefined || !isLinkValid(record, digest, clock.now())) throw problem('link_invalid')
    return record
  }
}

function isLinkValid({ link }: SignInRecord, digest: string, now: number): boolean {
  return link !== undefined && link.digest === digest && now < link.expiresAt
}
