import { isWithin } from '../../base/domain.ts'
import type { Row } from '../../store/index.ts'
import type { ManagedKeyType } from '../x509/keys.ts'

/** The account that owns rows of the platform itself. */
export const PLATFORM = 'platform'

/**
 * Something that gets certificates automatically.
 * `domain`: a reserved domain with a policy. `ingress`: an agent ingress with a policy. `own`: a reserved name below
 * the platform's domain that the platform's wildcard does not cover. `platform`: the platform's domain.
 */
export interface Subject {
  readonly kind: 'domain' | 'ingress' | 'own' | 'platform'
  /** The id of its row; the platform's account for the platform. */
  readonly id: string
  readonly account: string
  readonly domain: string
  /** The names the certificate must cover. */
  readonly names: readonly string[]
  readonly keyType: ManagedKeyType
  readonly challenge: 'http-01' | 'dns-01'
  /** The CNAME target of `_acme-challenge.<name>`, where validation ends up. */
  readonly challengeAlias: string | undefined
  /** The CNAME target that a custom domain must point to. */
  readonly cnameTarget: string | undefined
}

interface Policy {
  readonly private_key_type: ManagedKeyType
}

/** The subject of a reserved domain, if it requests a certificate. */
export function domainSubject(row: Row, base: string): Subject | undefined {
  const domain = row.data.domain as string
  const policy = row.data.certificate_management_policy as Policy | null
  const wildcard = domain.startsWith('*.')
  const common = {
    id: row.id,
    account: row.account,
    domain,
    names: [domain],
    challenge: wildcard ? 'dns-01' : 'http-01',
    challengeAlias: (row.data.acme_challenge_cname_target as string | null) ?? undefined,
    cnameTarget: (row.data.cname_target as string | null) ?? undefined,
  } as const
  if (policy !== null) return { ...common, kind: 'domain', keyType: policy.private_key_type }
  const coveredByPlatform = !domain.slice(0, -base.length - 1).includes('.') && !wildcard
  if (!isWithin(domain, base) || coveredByPlatform) return undefined
  return { ...common, kind: 'own', keyType: 'ecdsa' }
}

/** The subject of an agent ingress, if it requests a certificate. */
export function ingressSubject(row: Row): Subject | undefined {
  const policy = row.data.certificate_management_policy as Policy | null
  if (policy === null) return undefined
  const domain = row.data.domain as string
  return {
    kind: 'ingress',
    id: row.id,
    account: row.account,
    domain,
    names: [domain, ...(row.data.region_domains as string[])],
    keyType: policy.private_key_type,
    challenge: 'dns-01',
    challengeAlias: undefined,
    cnameTarget: undefined,
  }
}

/** The platform's own wildcard; undefined for local names, which no authority signs. */
export function platformSubject(base: string): Subject | undefined {
  if (!base.includes('.') || isWithin(base, 'localhost')) return undefined
  return {
    kind: 'platform',
    id: PLATFORM,
    account: PLATFORM,
    domain: base,
    names: [base, `*.${base}`],
    keyType: 'ecdsa',
    challenge: 'dns-01',
    challengeAlias: `platform.acme-challenge.${base}`,
    cnameTarget: undefined,
  }
}
