import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import { type Api, fieldProblem, problem } from '../../api/index.ts'
import { encodeQrCode } from '../../base/text/qr-code.ts'
import { type Clock, formatTimestamp } from '../../base/values/clock.ts'
import type { Invitation, RecoveryCodes, SecondFactorOffer } from '../page-data.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import { CredentialChecks, type CredentialDependencies } from './credential-checks.ts'
import { assignNewPassword } from './password-generator.ts'
import { validatePassword } from './passwords.ts'
import { createRecoveryCodes } from './recovery-codes.ts'
import { createSecondFactor, verifyCode } from './second-factor.ts'
import { rejectIfBusy, rejectIfLimited, userKey } from './sign-in-limits.ts'
import { createSignInLink } from './sign-in-link.ts'
import { hashPassword } from './sign-in-store.ts'

const MAX_BODY_BYTES = 16 * 1024
const secretText = Type.String({ maxLength: 4096 })
const passwordBody = Type.Object(
  { current: Type.Optional(secretText), new: secretText },
  { additionalProperties: false },
)
const codeBody = Type.Object({ code: Type.String({ maxLength: 32 }) }, { additionalProperties: false })
// People are away for a few days.
const INVITATION_LIFETIME_MS = 7 * 24 * 3_600_000
const ownPasswordBody = Type.Object({ password: secretText }, { additionalProperties: false })

/** What the routes of credentials use. */
interface CredentialRouteDependencies extends CredentialDependencies {
  readonly sessions: BrowserSessions
  readonly listenerUrl: () => string
  readonly clock: Clock
}

type AddRoute = ReturnType<typeof createAddRoute>

/** Mounts password and second-factor routes: for the signed-in user, and password resets by administrators. */
export function mountCredentials(api: Api, dependencies: CredentialRouteDependencies): void {
  const checks = new CredentialChecks(dependencies)
  const route = createAddRoute(api)
  mountOwnPassword(route, checks, dependencies)
  mountSecondFactor(route, checks, dependencies)
  mountSecondFactorRemoval(route, checks, dependencies)
  mountUserPasswords(route, checks, dependencies)
}

function createAddRoute({ http, authenticate }: Api) {
  return <B extends TSchema>(
    method: 'POST' | 'PUT' | 'DELETE',
    url: string,
    body: B | undefined,
    handler: (request: FastifyRequest, reply: FastifyReply, body: Static<B>) => Promise<unknown>,
  ): void => {
    http.route({
      method,
      url: `/dashboard/api${url}`,
      bodyLimit: MAX_BODY_BYTES,
      onRequest: authenticate,
      schema: body === undefined ? {} : { body },
      handler: (request, reply) => handler(request, reply, request.body as Static<B>),
    })
  }
}

function mountOwnPassword(
  route: AddRoute,
  checks: CredentialChecks,
  { passwords, signIns, sessions }: CredentialRouteDependencies,
): void {
  route('PUT', '/password', passwordBody, async (request, reply, { current, new: chosen }) => {
    const signedIn = await checks.requireSignedInUser(request)
    const { user, email, signIn } = signedIn
    const message = validatePassword(chosen)
    if (message !== undefined) throw fieldProblem('new', 'invalid_field', message)
    if (signIn !== undefined) {
      if (current === undefined) throw fieldProblem('current', 'invalid_field', 'current is required.')
      const check = { field: 'current', password: current, action: 'change_password' }
      await checks.requirePassword(request, reply, signedIn, check)
    }

    const password = await rejectIfBusy(reply, hashPassword({ signIns, passwords }, email, chosen))
    const fresh = { userId: user.id, account: user.account, email }
    await signIns.change(user, checks.audit(request, 'change_password', user.id), (current) => ({
      ...(current ?? { ...fresh, secondFactor: undefined, pendingSecondFactor: undefined, usedStep: 0 }),
      password,
      link: undefined,
    }))
    await sessions.closeAll(user.id, signedIn.principal.credentialId)
    return reply.code(204).send()
  })
}

function mountSecondFactor(
  route: AddRoute,
  checks: CredentialChecks,
  { signIns, sessions, limits, listenerUrl, clock }: CredentialRouteDependencies,
): void {
  route('POST', '/second_factor', undefined, async (request) => {
    const { user, email, signIn } = await checks.requireSignedInUser(request)
    if (signIn === undefined)
      throw problem('conflict', 'Set a password first: the second factor is used together with it.')
    if (signIn.secondFactor !== undefined)
      throw problem('conflict', 'The second factor is on already. Switch it off to set up another device.')
    const secondFactor = createSecondFactor(email, URL.parse(listenerUrl())?.host ?? '')
    await signIns.change(user, checks.audit(request, 'offer_second_factor', user.id), (current) =>
      current === undefined ? undefined : { ...current, pendingSecondFactor: secondFactor.secret },
    )
    return { ...secondFactor, qr_code: qrRows(secondFactor.uri) } satisfies SecondFactorOffer
  })

  route('PUT', '/second_factor', codeBody, async (request, reply, { code }) => {
    const { user, email, signIn, principal } = await checks.requireSignedInUser(request)
    if (signIn?.pendingSecondFactor === undefined)
      throw problem('conflict', 'There is no second factor to confirm. Request one first.')
    rejectIfLimited(reply, limits.users.take(userKey(email)))
    const recovery = createRecoveryCodes()
    const confirmed = await signIns.change(
      user,
      checks.audit(request, 'confirm_second_factor', user.id),
      (current) => {
        if (current?.pendingSecondFactor === undefined) return undefined
        const step = verifyCode(current.pendingSecondFactor, code, {
          now: clock.now(),
          usedStep: current.usedStep,
        })
        if (step === undefined) return undefined
        return {
          ...current,
          secondFactor: current.pendingSecondFactor,
          pendingSecondFactor: undefined,
          usedStep: step,
          recoveryCodes: recovery.digests,
        }
      },
    )
    if (confirmed === undefined) {
      await checks.auditRejection(request, 'confirm_second_factor', user.id, 'wrong code')
      throw fieldProblem('code', 'invalid_field', WRONG_CODE)
    }
    limits.users.refund(userKey(email))
    // Other sessions were opened without the second factor.
    await sessions.closeAll(user.id, principal.credentialId)
    return { recovery_codes: recovery.codes } satisfies RecoveryCodes
  })
}

function mountSecondFactorRemoval(
  route: AddRoute,
  checks: CredentialChecks,
  { signIns }: CredentialRouteDependencies,
): void {
  route('POST', '/second_factor/recovery_codes', ownPasswordBody, async (request, reply, { password }) => {
    const signedIn = await checks.requireSignedInUser(request)
    const action = 'renew_recovery_codes'
    await checks.requirePassword(request, reply, signedIn, { field: 'password', password, action })
    const { codes, digests } = createRecoveryCodes()
    const renewed = await signIns.change(
      signedIn.user,
      checks.audit(request, action, signedIn.user.id),
      (current) => (current?.secondFactor === undefined ? undefined : { ...current, recoveryCodes: digests }),
    )
    if (renewed === undefined) throw problem('conflict', 'The second factor is off. Switch it on first.')
    return { recovery_codes: codes } satisfies RecoveryCodes
  })

  route('DELETE', '/second_factor', ownPasswordBody, async (request, reply, { password }) => {
    const signedIn = await checks.requireSignedInUser(request)
    const check = { field: 'password', password, action: 'remove_second_factor' }
    await checks.requirePassword(request, reply, signedIn, check)
    await signIns.change(
      signedIn.user,
      checks.audit(request, 'remove_second_factor', signedIn.user.id),
      (current) =>
        current === undefined
          ? undefined
          : {
              ...current,
              secondFactor: undefined,
              pendingSecondFactor: undefined,
              recoveryCodes: undefined,
            },
    )
    return reply.code(204).send()
  })
}

function mountUserPasswords(
  route: AddRoute,
  checks: CredentialChecks,
  { store, passwords, clock }: CredentialRouteDependencies,
): void {
  route('PUT', '/users/:id/password', undefined, async (request, reply) => {
    const action = 'make_password'
    const user = await checks.requireOtherUser(request, action)
    const generated = assignNewPassword({ store, passwords }, user, checks.audit(request, action, user.id))
    return { password: (await rejectIfBusy(reply, generated)).reveal() }
  })

  route('POST', '/users/:id/invitation', undefined, async (request, reply): Promise<Invitation> => {
    const action = 'invite_user'
    const user = await checks.requireOtherUser(request, action)
    const link = createSignInLink({ store, passwords }, user, {
      dashboardUrl: '',
      now: clock.now(),
      lifetimeMs: INVITATION_LIFETIME_MS,
      audit: checks.audit(request, action, user.id),
    })
    const { url, expiresAt } = await rejectIfBusy(reply, link)
    return { link: url.reveal(), expires_at: formatTimestamp(expiresAt) }
  })
}

/** The rows of the QR code of an address, `1` is dark; null if it is too long for one. */
function qrRows(uri: string): string[] | null {
  return encodeQrCode(uri)?.map((row) => row.map((dark) => (dark ? '1' : '0')).join('')) ?? null
}

const WRONG_CODE =
  'This is not the current code of the app. Check the clock of the device, and enter the next code.'
