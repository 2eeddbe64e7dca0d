import { isIP } from 'node:net'
import { createInlineReplacer, TrialError, trialToJson, tryRequest } from '../../edge/policy/trial/index.ts'
import {
  type Attachment,
  type FactKind,
  issueText,
  NO_IP_DATA,
  PHASES,
  type Policy,
  PolicyError,
  readPolicy,
  reviewPolicy,
} from '../../policy/index.ts'
import type { PolicyCheck, PolicyTrialRequest, PolicyTrialResult } from '../page-data.ts'

/** What the threads of `policy-tools.ts` do. */
export type PolicyJob =
  | {
      readonly kind: 'check'
      readonly policy: string
      readonly attachment: Attachment
      readonly knownFacts: readonly FactKind[]
    }
  | { readonly kind: 'trial'; readonly request: PolicyTrialRequest }

/** A sentence about an input that cannot be used, or the result. */
export type PolicyJobResult =
  | { readonly check: PolicyCheck }
  | { readonly trial: PolicyTrialResult }
  | { readonly field: string; readonly message: string }

/** Runs in a thread: a policy of one tenant may take long to read or to run. */
export async function runPolicyJob(job: PolicyJob): Promise<PolicyJobResult> {
  return job.kind === 'check' ? { check: checkPolicy(job) } : tryPolicy(job.request)
}

function checkPolicy({
  policy: text,
  attachment,
  knownFacts,
}: Extract<PolicyJob, { kind: 'check' }>): PolicyCheck {
  try {
    const { policy, mistakes, warnings } = reviewPolicy(text, attachment, new Set(knownFacts))
    return { issues: [], warnings: toLines([...mistakes, ...warnings]), rules: outlineOf(policy) }
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const more = error.more > 0 ? [{ line: null, message: `and ${error.more} more` }] : []
    return { issues: [...toLines(error.issues), ...more], warnings: [], rules: [] }
  }
}

const toLines = (issues: PolicyError['issues']) =>
  issues.map((issue) => ({
    line: issue.line ?? null,
    message: issueText({ ...issue, line: undefined }),
  }))

function outlineOf({ phases }: Policy): PolicyCheck['rules'] {
  return PHASES.flatMap((phase) =>
    (phases[phase] ?? []).map(({ name, expressions, actions }) => ({
      phase,
      name,
      expressions,
      actions: actions.map(({ action, config }) => ({
        type: action.type,
        ends: action.ends === 'always' && !action.continues(config),
      })),
    })),
  )
}

async function tryPolicy(request: PolicyTrialRequest): Promise<PolicyJobResult> {
  const url = URL.parse(request.url)
  if (url === null || !/^https?:$/.test(url.protocol))
    return { field: 'url', message: 'Name a URL, such as https://app.example.com/login.' }
  if (isIP(request.client_ip) === 0)
    return { field: 'client_ip', message: `"${request.client_ip}" is not an IPv4 or IPv6 address.` }
  const headers: [string, string][] = []
  for (const line of request.headers) {
    const colon = line.indexOf(':')
    if (colon <= 0) return { field: 'headers', message: `"${line}" must be a name, a colon and a value.` }
    headers.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()])
  }
  try {
    const policy = readPolicy(request.policy, request.attachment)
    const trial = await tryRequest(
      policy,
      {
        method: request.method,
        url,
        headers,
        body: Buffer.from(request.body),
        clientAddress: request.client_ip,
      },
      {
        response: { status: 200, headers: [], body: Buffer.alloc(0) },
        signedInAs: request.signed_in_as || undefined,
        bodyReplacer: createInlineReplacer(),
        ipData: NO_IP_DATA,
        // Results are shown, so that no secret may be in them.
        readSecret: (vault, name) => `secret ${name} of ${vault}`,
      },
    )
    return { trial: trialToJson(trial) }
  } catch (error) {
    if (error instanceof PolicyError) return { field: 'policy', message: error.message }
    if (error instanceof TrialError) return { field: 'url', message: error.message }
    throw error
  }
}
