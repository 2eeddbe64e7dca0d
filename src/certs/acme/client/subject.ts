import { isWithin } from '../../../base/values/domain.ts'
import type { Row } from '../../../store/index.ts'
import type { ManagedKeyType } from '../../x509/keys.ts'

/** A row that can request certificates. */
export type SubjectRow = Row<'reserved_domains' | 'agent_ingresses'>

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

/** The subject of a row, if it requests a certificate. */
export function subjectOf(row: SubjectRow, base: string): Subject | undefined {
  return row.kind === 'agent_ingresses' ? ingressSubject(row) : domainSubject(row, base)
}

function domainSubject(row: Row<'reserved_domains'>, base: string): Subject | undefined {
  const domain = row.data.domain
  const policy = row.data.certificate_management_policy
  const wildcard = domain.startsWith('*.')
  const common = {
    id: row.id,
    account: row.account,
    domain,
    names: [domain],
    challenge: wildcard ? 'dns-01' : 'http-01',
    challengeAlias: row.data.acme_challenge_cname_target ?? undefined,
    cnameTarget: row.data.cname_target ?? undefined,
  } as const
  if (policy !== null) return { ...common, kind: 'domain', keyType: policy.private_key_type }
  const coveredByPlatform = !domain.slice(0, -base.length - 1).includes('.') && !wildcard
  if (!isWithin(domain, base) || coveredByPlatform) return undefined
  return { ...common, kind: 'own', keyType: 'ecdsa' }
}

function ingressSubject(row: Row<'agent_ingresses'>): Subject | undefined {
  const policy = row.data.certificate_management_policy
  if (policy === null) return undefined
  const domain = row.data.domain
  return {
    kind: 'ingress',
    id: row.id,
    account: row.account,
    domain,
    names: [domain, ...row.data.region_domains],
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
