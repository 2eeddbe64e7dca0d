import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { Type } from 'typebox'
import { fieldProblem, problem, requirePrincipal } from '../../api/index.ts'
import { PoolFailure, WorkerPool } from '../../base/threads/worker-pool.ts'
import { type Attachment, describeLanguage, type FactKind, type PolicyLanguage } from '../../policy/index.ts'
import { MAX_POLICY_BYTES } from '../../resources/index.ts'
import type { PolicyCheck, PolicyTrialRequest, PolicyTrialResult } from '../page-data.ts'
import type { PolicyJob, PolicyJobResult } from './policy-jobs.ts'

const attachment = Type.Object(
  {
    protocol: Type.Enum(['http', 'https', 'tcp', 'tls'] satisfies Attachment['protocol'][]),
    kind: Type.Enum(['endpoint', 'cloud', 'route', 'edge'] satisfies Attachment['kind'][]),
  },
  { additionalProperties: false },
)
const policy = Type.String({ maxLength: MAX_POLICY_BYTES })
const checkBody = Type.Object({ policy, attachment }, { additionalProperties: false })
const trialBody = Type.Object(
  {
    policy,
    attachment,
    method: Type.String({ pattern: '^[A-Z]{1,16}$' }),
    url: Type.String({ maxLength: 8192 }),
    headers: Type.Array(Type.String({ maxLength: 8192 }), { maxItems: 100 }),
    body: Type.String({ maxLength: 65_536 }),
    client_ip: Type.String({ maxLength: 64 }),
    signed_in_as: Type.String({ maxLength: 320 }),
  },
  { additionalProperties: false },
)
/** JSON escapes characters, and a character may have several bytes. */
const MAX_BODY_BYTES = 6 * MAX_POLICY_BYTES

/**
 * What the editor of traffic policies asks: the words of the language, `POST /dashboard/api/policy_check` for the mistakes
 * of a text, and `POST /dashboard/api/policy_trial` for what it does with a request. Both run in a thread of their own.
 */
export function mountPolicyTools(
  http: FastifyInstance,
  {
    authenticate,
    readFactKinds,
  }: { authenticate: onRequestHookHandler; readFactKinds: () => Promise<ReadonlySet<FactKind>> },
): void {
  const pool = new WorkerPool<PolicyJob, PolicyJobResult>({
    module: new URL('./policy-worker.ts', import.meta.url),
    maxThreads: 2,
    maxQueued: 32,
    jobTimeoutMs: 5000,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  http.addHook('onClose', () => pool.close())
  let language: PolicyLanguage | undefined

  async function run(accountId: string, job: PolicyJob): Promise<PolicyJobResult> {
    const result = await pool.run(accountId, job).catch((error: unknown) => {
      if (error instanceof PoolFailure && error.code === 'deadline_exceeded')
        throw fieldProblem('policy', 'invalid_field', 'policy: it takes more than 5 seconds to run.')
      throw error instanceof PoolFailure && error.code === 'busy' ? problem('too_many_requests', 1) : error
    })
    if ('field' in result)
      throw fieldProblem(result.field, 'invalid_field', `${result.field}: ${result.message}`)
    return result
  }

  http.get(
    '/dashboard/api/policy_language',
    { onRequest: authenticate },
    async (): Promise<PolicyLanguage> => {
      language ??= describeLanguage()
      return language
    },
  )
  http.post<{ Body: { policy: string; attachment: Attachment } }>(
    '/dashboard/api/policy_check',
    { onRequest: authenticate, bodyLimit: MAX_BODY_BYTES, schema: { body: checkBody } },
    async (request): Promise<PolicyCheck> => {
      const { accountId } = requirePrincipal(request)
      const result = await run(accountId, {
        kind: 'check',
        ...request.body,
        knownFacts: [...(await readFactKinds())],
      })
      return (result as { check: PolicyCheck }).check
    },
  )
  http.post<{ Body: PolicyTrialRequest }>(
    '/dashboard/api/policy_trial',
    { onRequest: authenticate, bodyLimit: MAX_BODY_BYTES, schema: { body: trialBody } },
    async (request): Promise<PolicyTrialResult> => {
      const { accountId } = requirePrincipal(request)
      const result = await run(accountId, { kind: 'trial', request: request.body })
      return (result as { trial: PolicyTrialResult }).trial
    },
  )
}
