import { ownsDomain } from '../../../naming/index.ts'
import {
  type Attachment,
  findCookieDomainMistake,
  issueText,
  mayHaveCookieDomain,
  type OwnsDomain,
  type Policy,
  PolicyError,
  type PolicyProtocol,
  policyErrors,
  readPolicy,
  reviewPolicy,
  unknownIpPolicy,
} from '../../../policy/index.ts'
import type { WriteContext } from '../../call.ts'
import { fieldProblem, Problem, problem } from '../../problems.ts'

const FIELD = 'traffic_policy.value'

/** Checks the policy of a cloud endpoint, and what it names when the policy or the URL is new. */
export async function requireCloudPolicy(
  { traffic_policy: text, url }: { readonly traffic_policy: string; readonly url: string },
  { proto: protocol, host }: { readonly proto: PolicyProtocol; readonly host: string },
  context: WriteContext,
): Promise<void> {
  if (text.trim() === '')
    throw fieldProblem('traffic_policy', 'endpoint_policy_missing', 'traffic_policy must not be empty.')
  const attachment: Attachment = { protocol, kind: 'cloud' }
  const policy = parsePolicy(text, attachment, 'traffic_policy')
  const isNewPolicy = text !== context.existing?.secrets?.traffic_policy
  // Another change must stay possible after the domain was released, or an IP policy deleted.
  if (isNewPolicy || url !== context.existing?.data.url)
    await requireCookieDomain(policy, [host], context, 'traffic_policy')
  if (!isNewPolicy) return
  await requireIpPolicies(policy, text, attachment, context, 'traffic_policy')
  await warn(text, attachment, context)
}

/** Rejects a policy whose cookies another account would get, or that no browser would take. */
export async function requireCookieDomain(
  policy: Policy,
  hosts: readonly string[],
  { store, principal }: WriteContext,
  field = FIELD,
): Promise<void> {
  const owns: OwnsDomain = (name) => ownsDomain(name, store, principal.accountId)
  const mistake = await findCookieDomainMistake(policy, hosts, owns)
  if (mistake !== undefined)
    throw new Problem(mistake.code, 400, `The traffic policy is not valid: ${mistake.message}`, { field })
}

/** Checks the `traffic_policy` module of a route or edge. Every mistake in it is reported at once. */
export async function requireValidPolicy(
  module: { readonly value: string } | null,
  attachment: Attachment,
  context: WriteContext,
): Promise<Policy | undefined> {
  if (module === null) return undefined
  const policy = parsePolicy(module.value, attachment)
  // Another change must stay possible after an IP policy was deleted.
  if (module.value === context.existing?.secrets?.[FIELD]) return policy
  await requireIpPolicies(policy, module.value, attachment, context)
  await warn(module.value, attachment, context)
  return policy
}

/** Warnings that one response names. */
const MAX_WARNINGS = 20

/** Tells the caller what in a policy may not do as expected. */
async function warn(
  text: string,
  attachment: Attachment,
  { dependencies, warnings }: WriteContext,
): Promise<void> {
  const review = reviewPolicy(text, attachment, (await dependencies.readFactKinds?.()) ?? new Set())
  warnings.push(...[...review.mistakes, ...review.warnings].slice(0, MAX_WARNINGS).map(issueText))
}

/** Checks the stored `traffic_policy` module of a route for other hosts. */
export async function requireStoredPolicy(
  secrets: Readonly<Record<string, string>> | undefined,
  attachment: Attachment,
  hosts: readonly string[],
  context: WriteContext,
): Promise<void> {
  const text = secrets?.[FIELD]
  if (text === undefined || !mayHaveCookieDomain(text)) return
  await requireCookieDomain(parsePolicy(text, attachment), hosts, context, 'hostports')
}

function parsePolicy(text: string, attachment: Attachment, field = FIELD): Policy {
  try {
    return readPolicy(text, attachment)
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    throw invalidPolicy(error.code, error, field)
  }
}

function invalidPolicy(
  code: number,
  { lines, issues }: Pick<PolicyError, 'lines' | 'issues'>,
  field: string,
): Problem {
  const line = issues[0]!.line
  return new Problem(code, 400, `The traffic policy is not valid: ${lines.join('\n')}`, {
    field,
    ...(line === undefined ? {} : { line: String(line) }),
  })
}

/** A policy is a text, so the store does not know what it refers to. */
async function requireIpPolicies(
  policy: Policy,
  text: string,
  attachment: Attachment,
  { store, principal }: WriteContext,
  field = FIELD,
): Promise<void> {
  const ids = actionsOf(policy).flatMap(({ action, config }) =>
    action.type === 'restrict-ips' ? (config as { ip_policies: string[] }).ip_policies : [],
  )
  for (const id of new Set(ids))
    if ((await store.get('ip_policies', principal.accountId, id)) === undefined)
      throw invalidPolicy(
        problem('no_such_reference', 'ip_policies', id).code,
        new PolicyError([unknownIpPolicy(text, attachment, id)]),
        field,
      )
}

/** Rejects a policy that signs visitors in on a route whose module does so already. */
export function requireOneSignIn(policy: Policy | undefined, module: string | undefined): void {
  const action = policy && actionsOf(policy).find(({ action: { signsIn } }) => signsIn)?.action
  if (action === undefined || module === undefined) return
  throw new Problem(
    policyErrors.several_sign_ins.code,
    400,
    `The traffic policy signs visitors in with ${action.type}, and the module ${module} of the route does so already.`,
    { field: FIELD },
  )
}

function actionsOf({ phases }: Policy) {
  return Object.values(phases).flatMap((rules) => rules.flatMap(({ actions }) => actions))
}
