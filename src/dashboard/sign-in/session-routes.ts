import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Api, fieldProblem, problem, requirePrincipal } from '../../api/index.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import type { Store } from '../../store/index.ts'
import { auditRecord } from '../audit-record.ts'
import type { LinkView, SessionView } from '../page-data.ts'
import { type BrowserSessions, type CurrentSession, requireSameSite } from './browser-sessions.ts'
import { isSecure, sessionCookie } from './cookie.ts'
import type { Proof, SignInFlow } from './sign-in-flow.ts'
import type { SignInStore } from './sign-in-store.ts'

// More than any password, and little enough for unauthenticated callers.
const MAX_BODY_BYTES = 16 * 1024

const linkBody = Type.Object({ link: Type.String({ maxLength: 256 }) }, { additionalProperties: false })

const proofBody = Type.Object(
  {
    email: Type.Optional(Type.String({ maxLength: 320 })),
    password: Type.Optional(Type.String({ maxLength: 4096 })),
    code: Type.Optional(Type.String({ maxLength: 32 })),
    api_key: Type.Optional(Type.String({ maxLength: 256 })),
    link: Type.Optional(Type.String({ maxLength: 256 })),
  },
  { additionalProperties: false },
)

function parseProof(
  body: Partial<Record<'email' | 'password' | 'code' | 'api_key' | 'link', string>>,
): Proof {
  const { email, password, code, api_key, link } = body
  if (link !== undefined) {
    if (password !== undefined && email === undefined && code === undefined && api_key === undefined)
      return { link, password }
    throw fieldProblem('link', 'invalid_field', 'Send the link together with the new password alone.')
  }
  if (api_key !== undefined) {
    if (email === undefined && password === undefined && code === undefined) return { api_key }
    throw fieldProblem(
      'api_key',
      'invalid_field',
      'Send either an API key, or an email address and a password.',
    )
  }
  if (email === undefined) throw fieldProblem('email', 'invalid_field', 'email is required.')
  if (password === undefined) throw fieldProblem('password', 'invalid_field', 'password is required.')
  return { email, password, code: code?.trim() === '' ? undefined : code }
}

/** Mounts the routes to sign in, sign out and read the current session. */
export function mountSession(
  { http, authenticate }: Api,
  {
    store,
    sessions,
    signIns,
    signInFlow,
    listenerUrl,
  }: {
    store: Store
    sessions: BrowserSessions
    signIns: SignInStore
    signInFlow: SignInFlow
    listenerUrl: () => string
  },
): void {
  const secure = (request: FastifyRequest) => isSecure(request, listenerUrl())
  async function renderSession({
    session,
    principal,
    csrf,
    expiresAt,
  }: CurrentSession): Promise<SessionView> {
    const { account, owner, apiKey } = session
    const user = owner.startsWith('usr_') ? await store.get('users', account, owner) : undefined
    const signInRecord = user && (await signIns.findByUser(account, owner))
    return {
      user: user === undefined ? null : { id: user.id, email: user.data.email, name: user.data.name },
      role: principal.role,
      account_id: account,
      api_key_sign_in: apiKey !== undefined,
      second_factor: signInRecord?.secondFactor !== undefined,
      recovery_codes: signInRecord?.recoveryCodes?.length ?? 0,
      expires_at: formatTimestamp(expiresAt),
      csrf,
    }
  }

  /** Without TLS browsers send only `Origin`; behind a proxy its host may differ from `Host`. */
  function requireSameOrigin({ headers }: FastifyRequest): void {
    requireSameSite(headers)
    if (headers.origin === undefined) return
    const host = URL.parse(headers.origin)?.host
    if (host !== headers.host && host !== URL.parse(listenerUrl())?.host) throw problem('foreign_site')
  }

  http.get('/dashboard/api/session', async (request) => {
    requireSameSite(request.headers)
    const current = await sessions.current(request)
    if (current === undefined) throw problem('signed_out')
    return renderSession(current)
  })

  http.post(
    '/dashboard/api/session',
    { bodyLimit: MAX_BODY_BYTES, schema: { body: proofBody } },
    async (request: FastifyRequest, reply: FastifyReply) => {
      requireSameOrigin(request)
      const proof = parseProof((request.body ?? {}) as Parameters<typeof parseProof>[0])
      const { token, current } = await signInFlow.signIn(request, reply, proof)
      reply.header('set-cookie', sessionCookie(token.reveal(), secure(request), sessions.maxAgeSeconds))
      return renderSession(current)
    },
  )

  // Not a GET: the token must not be part of a URL.
  http.post(
    '/dashboard/api/link',
    { bodyLimit: MAX_BODY_BYTES, schema: { body: linkBody } },
    async (request: FastifyRequest, reply: FastifyReply): Promise<LinkView> => {
      requireSameOrigin(request)
      const { link } = request.body as { link: string }
      return { email: await signInFlow.inspectLink(request, reply, link) }
    },
  )

  http.delete('/dashboard/api/session', { onRequest: authenticate }, async (request, reply) => {
    const { accountId, ownerId, credentialId, channel } = requirePrincipal(request)
    if (channel !== 'dashboard') throw problem('dashboard_only')
    const entry = { account: accountId, principal: ownerId, credential: credentialId, action: 'sign_out' }
    await store.write({}, (tx) => tx.audit(auditRecord(request, { ...entry, object: credentialId })))
    await sessions.close(request)
    reply.header('set-cookie', sessionCookie('', secure(request), 0))
    return reply.code(204).send()
  })
}
