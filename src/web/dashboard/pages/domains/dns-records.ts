import type { ReservedDomain } from '../../../../api-client/index.ts'

/** A DNS record that the owner of a domain has to create. */
export interface DnsRecord {
  readonly name: string
  readonly type: 'CNAME'
  readonly value: string
  readonly purpose: string
}

/** The DNS records of a reserved domain; none for names below the platform's own domain. */
export function dnsRecords({
  domain,
  cname_target,
  acme_challenge_cname_target,
}: Pick<ReservedDomain, 'domain' | 'cname_target' | 'acme_challenge_cname_target'>): DnsRecord[] {
  if (cname_target === null) return []
  const records: DnsRecord[] = [
    { name: domain, type: 'CNAME', value: cname_target, purpose: 'routes visitors to this platform' },
  ]
  if (acme_challenge_cname_target !== null)
    records.push({
      name: `_acme-challenge.${domain.replace(/^\*\./, '')}`,
      type: 'CNAME',
      value: acme_challenge_cname_target,
      purpose: 'proves ownership for the certificate',
    })
  return records
}

/** Whether a domain is an apex such as `example.net`, where DNS does not allow a CNAME beside other records. */
export function isApexDomain(domain: string): boolean {
  return domain.split('.').length === 2
}
