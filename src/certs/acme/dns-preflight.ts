import { isWithin } from '../../base/domain.ts'
import { type NameResolver, ResolverFailed } from './resolver.ts'
import type { Subject } from './subject.ts'

/** Why a certificate cannot be had now, in the terms of the API and in a sentence for the person who can change it. */
export interface Trouble {
  readonly code: 'DNS_ERROR' | 'INTERNAL_ERROR'
  readonly msg: string
}

const CHAIN_LIMIT = 8

/**
 * Looks whether a name is set up so that an authority will find us there. Nobody is asked for a certificate before
 * this finds nothing wrong, since a validation that fails counts against the name.
 */
export async function findTrouble(
  subject: Subject,
  { resolver, base, nameServers }: { resolver: NameResolver; base: string; nameServers: readonly string[] },
): Promise<Trouble | undefined> {
  try {
    switch (subject.kind) {
      case 'domain':
        return subject.challenge === 'dns-01'
          ? await challengeTrouble(subject, resolver)
          : await addressTrouble(subject, resolver, base)
      case 'ingress':
        return await delegationTrouble(subject.domain, resolver, nameServers)
      case 'platform':
      case 'own':
        return await platformTrouble(subject, resolver, nameServers)
    }
  } catch (error) {
    if (!(error instanceof ResolverFailed)) throw error
    return error.at === 'domain'
      ? dnsError(`${error.message} Check the DNS set-up of ${plain(subject.domain)}.`)
      : { code: 'INTERNAL_ERROR', msg: `${error.message} The server's DNS resolver does not answer.` }
  }
}

async function addressTrouble(
  { domain, cnameTarget }: Subject,
  resolver: NameResolver,
  base: string,
): Promise<Trouble | undefined> {
  if (cnameTarget === undefined) return undefined
  const todo = `Create a CNAME record for ${domain} that points to ${cnameTarget}.`
  const chain = await cnameChain(domain, resolver)
  const ours = await resolver.addresses(cnameTarget)
  if (chain.includes(cnameTarget)) return ours.length > 0 ? undefined : targetTrouble(cnameTarget, base)
  // Each reservation has a target of its own: a record left over from another one proves nothing about this owner.
  const foreign = chain.find((name) => isWithin(name, `cname.${base}`))
  if (foreign !== undefined)
    return dnsError(`${domain} points to ${foreign}, the target of another reserved domain. ${todo}`)
  const found = await resolver.addresses(domain)
  if (found.length === 0) return dnsError(`${domain} does not resolve yet. ${todo}`)
  // A name that cannot have a CNAME, such as the top of a zone, may have our addresses instead.
  const elsewhere = found.filter((address) => !ours.includes(address))
  if (elsewhere.length === 0) return undefined
  return dnsError(`${domain} leads to ${elsewhere.join(', ')}, which is not this platform. ${todo}`)
}

function targetTrouble(target: string, base: string): Trouble {
  return {
    code: 'INTERNAL_ERROR',
    msg: `${target} does not resolve: the platform's own domain ${base} is not set up completely. Its operator finds out why with "adit server check".`,
  }
}

async function challengeTrouble(
  { domain, challengeAlias }: Subject,
  resolver: NameResolver,
): Promise<Trouble | undefined> {
  const name = `_acme-challenge.${plain(domain)}`
  const chain = await cnameChain(name, resolver)
  if (challengeAlias === undefined || chain.includes(challengeAlias)) return undefined
  const found = chain[0] === undefined ? 'has no CNAME record' : `points to ${chain[0]}`
  return dnsError(`${name} ${found}. Create a CNAME record for it that points to ${challengeAlias}.`)
}

async function delegationTrouble(
  domain: string,
  resolver: NameResolver,
  nameServers: readonly string[],
): Promise<Trouble | undefined> {
  const found = await resolver.ns(domain)
  const foreign = found.filter((name) => !nameServers.includes(name))
  if (found.length > 0 && foreign.length === 0) return undefined
  const state =
    found.length === 0 ? `${domain} is not delegated yet` : `${domain} is delegated to ${foreign.join(', ')}`
  return dnsError(`${state}. Create NS records for it that name ${nameServers.join(', ')}, and no others.`)
}

async function platformTrouble(
  { domain, challenge, challengeAlias }: Subject,
  resolver: NameResolver,
  nameServers: readonly string[],
): Promise<Trouble | undefined> {
  if (challenge === 'http-01') {
    if ((await resolver.addresses(domain)).length > 0) return undefined
    return dnsError(`${domain} does not resolve: the platform's domain has no wildcard record.`)
  }
  const name = `_acme-challenge.${plain(domain)}`
  if (challengeAlias !== undefined && (await cnameChain(name, resolver)).includes(challengeAlias))
    return undefined
  for (let at = plain(domain); at.includes('.'); at = at.slice(at.indexOf('.') + 1)) {
    const found = await resolver.ns(at)
    if (found.length === 0) continue
    if (found.every((server) => nameServers.includes(server))) return undefined
    break
  }
  const alias =
    challengeAlias === undefined
      ? ''
      : `, or create a CNAME record for ${name} that points to ${challengeAlias}`
  return dnsError(
    `${plain(domain)} is not delegated to this server. Create NS records for the platform's domain that name ${nameServers.join(', ')}${alias}.`,
  )
}

/** The names a CNAME record leads to, one after the other. */
async function cnameChain(name: string, resolver: NameResolver): Promise<string[]> {
  const chain: string[] = []
  let at: string | undefined = name
  while (chain.length < CHAIN_LIMIT) {
    at = (await resolver.cname(at))[0]
    if (at === undefined || chain.includes(at)) break
    chain.push(at)
  }
  return chain
}

function plain(domain: string): string {
  return domain.replace(/^\*\./, '')
}

function dnsError(msg: string): Trouble {
  return { code: 'DNS_ERROR', msg }
}
