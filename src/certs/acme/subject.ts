import { isWithin } from '../../base/domain.ts'
import type { Row } from '../../store/index.ts'
import type { ManagedKeyType } from '../x509/keys.ts'

/** The account that rows of the platform itself belong to. */
export const PLATFORM = 'platform'

/**
 * Something that gets certificates by itself.
 * `domain`: a reserved domain with a policy. `ingress`: an agent ingress with a policy. `own`: a reserved name below
 * the platform's domain that the platform's wildcard does not cover. `platform`: the platform's domain.
 */
export interface Subject {
  readonly kind: 'domain' | 'ingress' | 'own' | 'platform'
  /** Id of the row it stands for; of the platform its account. */
  readonly id: string
  readonly account: string
  readonly domain: string
  /** What the certificate has to name. */
  readonly names: readonly string[]
  readonly keyType: ManagedKeyType
  readonly challenge: 'http-01' | 'dns-01'
  /** Where validation looks in the end, beside the usual `_acme-challenge.<name>`. */
  readonly challengeAlias: string | undefined
  /** Where visitors of a custom domain have to be sent. */
  readonly cnameTarget: string | undefined
}

interface Policy {
  readonly private_key_type: ManagedKeyType
}

/** The certificate that a reserved domain asks for, if it asks for one. */
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

/** The certificate that an agent ingress asks for, if it asks for one. */
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

/** The platform's own wildcard; there is none to be had for names that only exist on one machine. */
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
