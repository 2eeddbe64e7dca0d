import type { FastifyReply, FastifyRequest } from 'fastify'
import { fieldProblem, problem, requirePrincipal } from '../../api/index.ts'
import type { Principal } from '../../auth/index.ts'
import type { AuditEntry, DurableStore } from '../../store/index.ts'
import { auditRecord } from '../audit-record.ts'
import type { Passwords } from './passwords.ts'
import { rejectIfBusy, rejectIfLimited, type SignInLimits, userKey } from './sign-in-limits.ts'
import type { SignInRecord, SignInStore } from './sign-in-store.ts'

/** The signed-in user, with how they sign in. */
export interface SignedInUser {
  readonly principal: Principal
  readonly user: { readonly account: string; readonly id: string }
  readonly email: string
  readonly signIn: SignInRecord | undefined
}

/** What credentials are checked and changed with. */
export interface CredentialDependencies {
  readonly store: DurableStore
  readonly signIns: SignInStore
  readonly passwords: Passwords
  readonly limits: SignInLimits
}

/** What every call that changes a credential checks and records. */
export class CredentialChecks {
  readonly #dependencies: CredentialDependencies

  constructor(dependencies: CredentialDependencies) {
    this.#dependencies = dependencies
  }

  /** The user of the request; only a session of the dashboard will do. */
  async requireSignedInUser(request: FastifyRequest): Promise<SignedInUser> {
    const { store, signIns } = this.#dependencies
    const principal = requirePrincipal(request)
    const { accountId: account, ownerId: id, channel } = principal
    // A leaked key must not be turned into a password that outlives it.
    if (channel !== 'dashboard' || !id.startsWith('usr_')) throw problem('dashboard_only')
    const user = await store.get('users', account, id)
    if (user === undefined) throw problem('signed_out')
    return {
      principal,
      user: { account, id },
      email: user.data.email,
      signIn: await signIns.findByUser(account, id),
    }
  }

  /** The audit record of a change, or of a rejection with its reason. */
  audit(request: FastifyRequest, action: string, object: string, rejection?: string): AuditEntry {
    const { accountId: account, ownerId: principal, credentialId: credential } = requirePrincipal(request)
    const entry = { account, principal, credential, action, object }
    return auditRecord(request, rejection === undefined ? entry : { ...entry, rejection })
  }

  /** Audits a rejection, rate limited. */
  async auditRejection(request: FastifyRequest, action: string, object: string, reason: string) {
    const { limits, store } = this.#dependencies
    if (limits.audits.take(requirePrincipal(request).accountId) > 0) return
    await store.write({}, (tx) => tx.audit(this.audit(request, action, object, reason)))
  }

  /** Requires the password again, so that an unlocked screen is not enough. Counts as a sign-in attempt. */
  async requirePassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { signIn, user, email }: SignedInUser,
    { field, password, action }: { field: string; password: string; action: string },
  ): Promise<void> {
    const { limits, passwords } = this.#dependencies
    rejectIfLimited(reply, limits.users.take(userKey(email)))
    const stored = signIn === undefined ? [] : [signIn.password]
    if ((await rejectIfBusy(reply, passwords.find(user.id, password, stored))) !== undefined) {
      limits.users.refund(userKey(email))
      return
    }
    await this.auditRejection(request, action, user.id, 'wrong password')
    throw fieldProblem(field, 'invalid_field', 'This is not your current password.')
  }

  /** The user of the path, for administrators. */
  async requireOtherUser(request: FastifyRequest, action: string) {
    const { id } = request.params as { id: string }
    const { accountId: account, role } = requirePrincipal(request)
    if (role !== 'admin') {
      await this.auditRejection(request, action, id.slice(0, 64), 'not an administrator')
      throw problem('admins_only')
    }
    const user = await this.#dependencies.store.get('users', account, id)
    if (user === undefined) throw problem('not_found', 'user', id)
    return { account, id, email: user.data.email }
  }
}
