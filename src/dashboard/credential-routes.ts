import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import { type Api, fieldProblem, problem } from '../api/index.ts'
import type { Principal } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import type { AuditEntry, DurableStore } from '../store/index.ts'
import { auditRecord } from './audit-record.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import { givePassword } from './password-generator.ts'
import { type Passwords, passwordComplaint } from './passwords.ts'
import { acceptedStep, newSecondFactor } from './second-factor.ts'
import { type Limits, orBusy, tooMany, userKey } from './sign-in-flow.ts'
import type { SignIn, SignIns } from './sign-in-store.ts'

const SMALL_BODY = 16 * 1024
const secretText = Type.String({ maxLength: 4096 })
const passwordBody = Type.Object(
  { current: Type.Optional(secretText), new: secretText },
  { additionalProperties: false },
)
const codeBody = Type.Object({ code: Type.String({ maxLength: 32 }) }, { additionalProperties: false })
const ownPasswordBody = Type.Object({ password: secretText }, { additionalProperties: false })

/** A user changing how they sign in themselves. */
interface Own {
  readonly principal: Principal
  readonly user: { readonly account: string; readonly id: string }
  readonly email: string
  readonly signIn: SignIn | undefined
}

/** Passwords and second factors: of whoever is signed in, and new passwords that administrators make for others. */
export function mountCredentials(
  { http, authenticate }: Api,
  {
    store,
    sessions,
    signIns,
    passwords,
    limits,
    apiUrl,
    clock,
  }: {
    store: DurableStore
    sessions: BrowserSessions
    signIns: SignIns
    passwords: Passwords
    limits: Limits
    apiUrl: () => string
    clock: Clock
  },
): void {
  async function ownOf(request: FastifyRequest): Promise<Own> {
    const principal = request.principal!
    const { accountId: account, ownerId: id, through } = principal
    // A key that leaked must not become a password that outlives it.
    if (through !== 'dashboard' || !id.startsWith('usr_')) throw problem('dashboard_only')
    const user = await store.get('users', account, id)
    if (user === undefined) throw problem('signed_out')
    return {
      principal,
      user: { account, id },
      email: user.data.email as string,
      signIn: await signIns.ofUser(account, id),
    }
  }

  function audit(request: FastifyRequest, action: string, object: string, refused?: string): AuditEntry {
    const { accountId: account, ownerId: principal, credentialId: credential } = request.principal!
    const entry = { account, principal, credential, action, object }
    return auditRecord(request, refused === undefined ? entry : { ...entry, refused })
  }

  /** A flood of refusals is recorded in part. */
  async function recordRefusal(request: FastifyRequest, action: string, object: string, why: string) {
    if (limits.audited.take(request.principal!.accountId) > 0) return
    await store.write({}, (tx) => tx.audit(audit(request, action, object, why)))
  }

  /** Asks for the password again: an unlocked screen must not be enough. Counts like attempts to sign in. */
  async function requirePassword(
    request: FastifyRequest,
    reply: FastifyReply,
    { signIn, user, email }: Own,
    { field, given, action }: { field: string; given: string; action: string },
  ): Promise<void> {
    tooMany(reply, limits.users.take(userKey(email)))
    if (await orBusy(reply, passwords.matches(given, signIn?.password))) {
      limits.users.giveBack(userKey(email))
      return
    }
    await recordRefusal(request, action, user.id, 'wrong password')
    throw fieldProblem(field, 'invalid_field', 'This is not your current password.')
  }

  function route<B extends TSchema>(
    method: 'POST' | 'PUT' | 'DELETE',
    url: string,
    body: B | undefined,
    handler: (request: FastifyRequest, reply: FastifyReply, body: Static<B>) => Promise<unknown>,
  ): void {
    http.route({
      method,
      url: `/dashboard/api${url}`,
      bodyLimit: SMALL_BODY,
      onRequest: authenticate,
      schema: body === undefined ? {} : { body },
      handler: (request, reply) => handler(request, reply, request.body as Static<B>),
    })
  }

  route('PUT', '/password', passwordBody, async (request, reply, { current, new: chosen }) => {
    const own = await ownOf(request)
    const { user, email, signIn } = own
    const complaint = passwordComplaint(chosen)
    if (complaint !== undefined) throw fieldProblem('new', 'invalid_field', complaint)
    if (signIn !== undefined) {
      if (current === undefined) throw fieldProblem('current', 'invalid_field', 'current is required.')
      const asked = { field: 'current', given: current, action: 'change_password' }
      await requirePassword(request, reply, own, asked)
    }

    const password = await orBusy(reply, passwords.hash(chosen))
    const fresh = { userId: user.id, account: user.account, email }
    await signIns.change(user, audit(request, 'change_password', user.id), (before) => ({
      ...(before ?? { ...fresh, secondFactor: undefined, offered: undefined, usedStep: 0 }),
      password,
    }))
    await sessions.closeAll(user.id, own.principal.credentialId)
    return reply.code(204).send()
  })

  route('POST', '/second_factor', undefined, async (request) => {
    const { user, email, signIn } = await ownOf(request)
    if (signIn === undefined)
      throw problem('conflict', 'Set a password first: the second factor is asked for beside it.')
    if (signIn.secondFactor !== undefined)
      throw problem('conflict', 'The second factor is on already. Switch it off to set up another device.')
    const offered = newSecondFactor(email, URL.parse(apiUrl())?.host ?? '')
    await signIns.change(user, audit(request, 'offer_second_factor', user.id), (before) =>
      before === undefined ? undefined : { ...before, offered: offered.secret },
    )
    return offered
  })

  route('PUT', '/second_factor', codeBody, async (request, reply, { code }) => {
    const { user, email, signIn, principal } = await ownOf(request)
    if (signIn?.offered === undefined)
      throw problem('conflict', 'There is no second factor to confirm: ask for one first.')
    tooMany(reply, limits.users.take(userKey(email)))
    const confirmed = await signIns.change(
      user,
      audit(request, 'confirm_second_factor', user.id),
      (before) => {
        if (before?.offered === undefined) return undefined
        const step = acceptedStep(before.offered, code, { now: clock.now(), usedStep: before.usedStep })
        if (step === undefined) return undefined
        return { ...before, secondFactor: before.offered, offered: undefined, usedStep: step }
      },
    )
    if (confirmed === undefined) {
      await recordRefusal(request, 'confirm_second_factor', user.id, 'wrong code')
      throw fieldProblem('code', 'invalid_field', WRONG_CODE)
    }
    limits.users.giveBack(userKey(email))
    // Whoever signed in elsewhere did so without it.
    await sessions.closeAll(user.id, principal.credentialId)
    return reply.code(204).send()
  })

  route('DELETE', '/second_factor', ownPasswordBody, async (request, reply, { password }) => {
    const own = await ownOf(request)
    const asked = { field: 'password', given: password, action: 'remove_second_factor' }
    await requirePassword(request, reply, own, asked)
    await signIns.change(own.user, audit(request, 'remove_second_factor', own.user.id), (before) =>
      before === undefined ? undefined : { ...before, secondFactor: undefined, offered: undefined },
    )
    return reply.code(204).send()
  })

  route('PUT', '/users/:id/password', undefined, async (request, reply) => {
    const { id } = request.params as { id: string }
    const { accountId: account, role } = request.principal!
    if (role !== 'admin') {
      await recordRefusal(request, 'make_password', id.slice(0, 64), 'not an administrator')
      throw problem('admins_only')
    }
    const user = await store.get('users', account, id)
    if (user === undefined) throw problem('not_found', 'user', id)
    const whose = { account, id, email: user.data.email as string }
    const making = givePassword({ store, passwords }, whose, audit(request, 'make_password', id))
    return { password: (await orBusy(reply, making)).reveal() }
  })
}

const WRONG_CODE =
  'This is not the code the app shows now. Check the clock of the device, and give the next code.'
