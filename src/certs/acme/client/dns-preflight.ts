import { isWithin } from '../../../base/values/domain.ts'
import { type NameResolver, ResolverError } from './resolver.ts'
import type { Subject } from './subject.ts'

/** Why a certificate cannot be issued now: the code of the API, and a sentence for the person who can fix it. */
export interface DnsProblem {
  readonly code: 'DNS_ERROR' | 'INTERNAL_ERROR'
  readonly msg: string
}

/** What the check found. */
export interface DnsFinding extends DnsProblem {
  /** A name server or resolver did not answer, which often passes in a moment. */
  readonly unanswered?: boolean
}

const MAX_CHAIN = 8

/**
 * Checks whether DNS points a name at this platform. Nothing is ordered before this check passes, since a failed
 * validation counts against the name.
 */
export async function checkDns(
  subject: Subject,
  {
    resolver,
    base,
    nameServers,
    usesProvider = false,
  }: { resolver: NameResolver; base: string; nameServers: readonly string[]; usesProvider?: boolean },
): Promise<DnsFinding | undefined> {
  try {
    switch (subject.kind) {
      case 'domain':
        return subject.challenge === 'dns-01'
          ? await checkChallengeAlias(subject, resolver)
          : await checkAddress(subject, resolver, base)
      case 'ingress':
        return await checkDelegation(subject.domain, resolver, nameServers)
      case 'platform':
      case 'own':
        // A DNS provider that has the zone needs no delegation to this server; whether it has is checked with it.
        return usesProvider && subject.challenge === 'dns-01'
          ? undefined
          : await checkPlatform(subject, resolver, nameServers)
    }
  } catch (error) {
    if (!(error instanceof ResolverError)) throw error
    const problem: DnsProblem =
      error.source === 'domain'
        ? dnsProblem(`${error.message} Check the DNS setup of ${stripWildcard(subject.domain)}.`)
        : { code: 'INTERNAL_ERROR', msg: `${error.message} The server's DNS resolver does not answer.` }
    return { ...problem, unanswered: true }
  }
}

async function checkAddress(
  { domain, cnameTarget }: Subject,
  resolver: NameResolver,
  base: string,
): Promise<DnsProblem | undefined> {
  if (cnameTarget === undefined) return undefined
  const instruction = `Create a CNAME record for ${domain} that points to ${cnameTarget}.`
  const chain = await followCnames(domain, resolver)
  const platformAddresses = await resolver.addresses(cnameTarget)
  if (chain.includes(cnameTarget))
    return platformAddresses.length > 0 ? undefined : targetProblem(cnameTarget, base)
  // Each reservation has its own target: a record left over from another one proves nothing about this owner (decision 58).
  const foreign = chain.find((name) => isWithin(name, `cname.${base}`))
  if (foreign !== undefined)
    return dnsProblem(`${domain} points to ${foreign}, the target of another reserved domain. ${instruction}`)
  const addresses = await resolver.addresses(domain)
  if (addresses.length === 0) return dnsProblem(`${domain} does not resolve yet. ${instruction}`)
  // A name that cannot have a CNAME, such as a zone apex, may have our addresses instead.
  const elsewhere = addresses.filter((address) => !platformAddresses.includes(address))
  if (elsewhere.length === 0) return undefined
  return dnsProblem(`${domain} points to ${elsewhere.join(', ')}, which is not this platform. ${instruction}`)
}

function targetProblem(target: string, base: string): DnsProblem {
  return {
    code: 'INTERNAL_ERROR',
    msg: `${target} does not resolve: the setup of the platform's own domain ${base} is incomplete. Its operator can find out why with "adit server check".`,
  }
}

async function checkChallengeAlias(
  { domain, challengeAlias }: Subject,
  resolver: NameResolver,
): Promise<DnsProblem | undefined> {
  const name = `_acme-challenge.${stripWildcard(domain)}`
  const chain = await followCnames(name, resolver)
  if (challengeAlias === undefined || chain.includes(challengeAlias)) return undefined
  const state = chain[0] === undefined ? 'has no CNAME record' : `points to ${chain[0]}`
  return dnsProblem(`${name} ${state}. Create a CNAME record for it that points to ${challengeAlias}.`)
}

async function checkDelegation(
  domain: string,
  resolver: NameResolver,
  nameServers: readonly string[],
): Promise<DnsProblem | undefined> {
  const servers = await resolver.ns(domain)
  const foreign = servers.filter((name) => !nameServers.includes(name))
  if (servers.length > 0 && foreign.length === 0) return undefined
  const state =
    servers.length === 0
      ? `${domain} is not delegated yet`
      : `${domain} is delegated to ${foreign.join(', ')}`
  return dnsProblem(`${state}. Create NS records for it that name ${nameServers.join(', ')}, and no others.`)
}

async function checkPlatform(
  { domain, challenge, challengeAlias }: Subject,
  resolver: NameResolver,
  nameServers: readonly string[],
): Promise<DnsProblem | undefined> {
  if (challenge === 'http-01') {
    if ((await resolver.addresses(domain)).length > 0) return undefined
    return dnsProblem(`${domain} does not resolve: the platform's domain has no wildcard record.`)
  }
  const name = `_acme-challenge.${stripWildcard(domain)}`
  if (challengeAlias !== undefined && (await followCnames(name, resolver)).includes(challengeAlias))
    return undefined
  if (await isDelegatedHere(stripWildcard(domain), resolver, nameServers)) return undefined
  const alias =
    challengeAlias === undefined
      ? ''
      : `, or create a CNAME record for ${name} that points to ${challengeAlias}`
  return dnsProblem(
    `${stripWildcard(domain)} is not delegated to this server. Create NS records for the platform's domain that name ${nameServers.join(', ')}${alias}.`,
  )
}

/** Whether the zone of a name is delegated to this server alone. */
export async function isDelegatedHere(
  name: string,
  resolver: NameResolver,
  nameServers: readonly string[],
): Promise<boolean> {
  for (let zone = name; zone.includes('.'); zone = zone.slice(zone.indexOf('.') + 1)) {
    const servers = await resolver.ns(zone)
    if (servers.length > 0) return servers.every((server) => nameServers.includes(server))
  }
  return false
}

/** The chain of names behind a CNAME record, in order. */
export async function followCnames(name: string, resolver: NameResolver): Promise<string[]> {
  const chain: string[] = []
  let next: string | undefined = name
  while (chain.length < MAX_CHAIN) {
    next = (await resolver.cname(next))[0]
    if (next === undefined || chain.includes(next)) break
    chain.push(next)
  }
  return chain
}

function stripWildcard(domain: string): string {
  return domain.replace(/^\*\./, '')
}

function dnsProblem(msg: string): DnsProblem {
  return { code: 'DNS_ERROR', msg }
}
