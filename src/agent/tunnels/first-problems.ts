import dns from 'node:dns/promises'
import { describeNetworkError } from '../../base/text/network-error.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'
import type { UpstreamAddress } from '../spec/upstream-address.ts'
import { isServed } from './local-listeners.ts'

const ISSUER_TIMEOUT_MS = 10_000

/** What the first visitor of a tunnel would run into. */
export interface FirstProblem {
  /** The line of the log, with its fields. */
  readonly message: string
  readonly fields: Readonly<Record<string, string>>
  /** What the screen says. */
  readonly hint: string
}

/** Looks for one problem of a tunnel each; resolves to undefined when there is none. */
export type ProblemSearch = () => Promise<FirstProblem | undefined>

/** What is checked when a tunnel starts, by a key that names what the search is about. */
export function problemSearches(spec: AgentTunnelSpec): Map<string, ProblemSearch> {
  const searches = new Map<string, ProblemSearch>()
  searches.set(spec.upstream.text, () => checkUpstream(spec.upstream))
  for (const { opts } of spec.binds) {
    const issuer = opts.OIDC?.issuer_url
    if (issuer !== undefined) searches.set(issuer, () => checkIssuer(issuer))
  }
  return searches
}

async function checkUpstream(upstream: UpstreamAddress): Promise<FirstProblem | undefined> {
  const { text, host } = upstream
  const served = await isServed(upstream)
  if (served === false)
    return {
      message: 'nothing listens at the address of the tunnel',
      fields: { addr: text },
      hint: `Nothing listens at ${text} yet: start the service there, or correct the address.`,
    }
  if (served === true || host === '') return undefined
  const failure = await dns.lookup(host).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  )
  if (failure !== 'ENOTFOUND') return undefined
  return {
    message: 'the host in the address of the tunnel cannot be resolved',
    fields: { addr: text },
    hint: `The host of ${text} cannot be resolved: give a port of this machine, such as 3000, or correct the name.`,
  }
}

/** The server asks the issuer when a visitor signs in; a typing error in its URL shows here already. */
async function checkIssuer(issuer: string): Promise<FirstProblem | undefined> {
  const reason = await fetchConfiguration(issuer)
  if (reason === undefined) return undefined
  return {
    message: 'the OpenID issuer does not answer this machine',
    fields: { issuer, err: reason },
    hint: `The OpenID issuer ${issuer} cannot be reached from this machine: ${reason}. Visitors can sign in only if the server can reach it.`,
  }
}

async function fetchConfiguration(issuer: string): Promise<string | undefined> {
  try {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const response = await fetch(url, { signal: AbortSignal.timeout(ISSUER_TIMEOUT_MS) })
    await response.body?.cancel()
    return response.ok ? undefined : `${url} is ${response.status}`
  } catch (error) {
    const reason = describeNetworkError(error)
    // The server may trust authorities that this machine does not (--outbound-ca).
    return reason === 'its certificate is not trusted' ? undefined : reason
  }
}
