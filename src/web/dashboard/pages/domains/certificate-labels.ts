import type { AgentIngress, ReservedDomain } from '../../../../api-client/index.ts'
import { formatAgo } from '../../kit/ago.ts'
import type { PlatformInfo } from '../platform.ts'

/** The certificate status of a domain, described. */
export interface CertificateText {
  readonly tone: 'good' | 'info' | 'warn' | 'bad'
  /** A short label. */
  readonly short: string
  readonly text: string
  /** Whether the owner or operator has to act. */
  readonly attention: boolean
}

type CertificateState = AgentIngressState & Partial<Pick<ReservedDomain, 'certificate' | 'cname_target'>>
type AgentIngressState = Pick<
  AgentIngress,
  'domain' | 'certificate_management_policy' | 'certificate_management_status'
>

/** Describes which certificate a domain serves, its renewal, and what its owner has to do. */
export function describeCertificate(
  domain: CertificateState,
  platform?: Pick<PlatformInfo, 'acme' | 'public_certificate' | 'domain'>,
  now = Date.now(),
): CertificateText {
  const {
    certificate = null,
    certificate_management_policy: policy,
    certificate_management_status: status,
  } = domain
  if (policy === null) {
    const isPlatformName = domain.cname_target === null && !(platform && isUncovered(domain.domain, platform))
    return describeWithoutPolicy(certificate !== null, isPlatformName)
  }
  const renewsAt = status?.renews_at ?? null
  const job = status?.provisioning_job ?? null
  if (renewsAt !== null && job === null)
    return {
      tone: 'good',
      short: 'Valid',
      text: `Visitors get a valid certificate. It renews automatically ${formatAgo(renewsAt, now)}.`,
      attention: false,
    }
  if (renewsAt === null && platform?.acme === false)
    return {
      tone: 'warn',
      short: 'Waiting for operator',
      text: 'This server does not obtain certificates: its operator has to start it with --acme-directory. Meanwhile, visitors get a certificate from the private authority of this platform, which browsers do not trust by default.',
      attention: true,
    }
  if (job === null || job.error_code === null)
    return renewsAt === null
      ? {
          tone: 'info',
          short: 'Ordering',
          text: 'The first certificate is being ordered. This usually takes less than a minute.',
          attention: false,
        }
      : {
          tone: 'good',
          short: 'Renewing',
          text: 'A new certificate is being ordered; the current one is served until it arrives.',
          attention: false,
        }
  const retryText =
    job.retries_at === null
      ? 'There are no more retries: save the domain again to retry.'
      : `The next retry is ${formatAgo(job.retries_at, now)}.`
  const servedText = renewsAt === null ? '' : ' The current certificate is served until it expires.'
  const dnsProblem = job.error_code === 'DNS_ERROR'
  return {
    tone: renewsAt === null ? 'bad' : 'warn',
    short: dnsProblem ? 'Waiting for DNS records' : 'Failed',
    text: `${job.msg} ${retryText}${servedText}`,
    attention: true,
  }
}

/** The certificate in the files of the operator covers one label, and without an authority there is no other. */
function isUncovered(
  domain: string,
  platform: Pick<PlatformInfo, 'acme' | 'public_certificate' | 'domain'>,
): boolean {
  if (platform.acme || !platform.public_certificate) return false
  return domain.slice(0, -platform.domain.length - 1).includes('.')
}

function describeWithoutPolicy(uploaded: boolean, platformName: boolean): CertificateText {
  if (uploaded)
    return {
      tone: 'good',
      short: 'Custom',
      text: 'Visitors get the certificate you attached. It does not renew automatically.',
      attention: false,
    }
  if (platformName)
    return {
      tone: 'good',
      short: 'Platform',
      text: 'The platform serves its own certificate for this name. No action is needed.',
      attention: false,
    }
  return {
    tone: 'warn',
    short: 'Private',
    text: 'Visitors get a certificate from the private authority of this platform, which browsers do not trust by default. Attach one, or obtain one automatically.',
    attention: true,
  }
}
