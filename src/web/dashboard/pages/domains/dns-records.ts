import type { Domain } from '../resources.ts'

/** A record that the owner of a domain has to create. */
export interface DnsRecord {
  readonly name: string
  readonly type: 'CNAME'
  readonly value: string
  /** What it is for. */
  readonly purpose: string
}

/** The records for a reserved domain; none for names of the platform itself. */
export function dnsRecords({
  domain,
  cname_target,
  acme_challenge_cname_target,
}: Pick<Domain, 'domain' | 'cname_target' | 'acme_challenge_cname_target'>): DnsRecord[] {
  if (cname_target === null) return []
  const records: DnsRecord[] = [
    { name: domain, type: 'CNAME', value: cname_target, purpose: 'brings visitors here' },
  ]
  if (acme_challenge_cname_target !== null)
    records.push({
      name: `_acme-challenge.${domain.replace(/^\*\./, '')}`,
      type: 'CNAME',
      value: acme_challenge_cname_target,
      purpose: 'proves that the name is yours, for its certificate',
    })
  return records
}

/** A domain itself, such as `example.net`, often cannot have a CNAME beside its other records. */
export function isApexDomain(domain: string): boolean {
  return domain.split('.').length === 2
}
