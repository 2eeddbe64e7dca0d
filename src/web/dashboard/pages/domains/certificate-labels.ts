import { formatAgo } from '../../kit/ago.ts'
import type { Domain } from '../resources.ts'

/** How a certificate stands, for people. */
export interface CertificateText {
  readonly tone: 'good' | 'info' | 'warn' | 'bad'
  /** A word or two. */
  readonly short: string
  readonly text: string
  /** Whether somebody has to do something. */
  readonly attention: boolean
}

type CertificateState = Pick<
  Domain,
  'certificate' | 'certificate_management_policy' | 'certificate_management_status' | 'cname_target'
>

/** What visitors of a domain are shown, what the platform is doing about it, and what its owner has to do. */
export function describeCertificate(
  domain: CertificateState,
  platform?: { readonly acme: boolean },
  now = Date.now(),
): CertificateText {
  const { certificate, certificate_management_policy: policy, certificate_management_status: status } = domain
  if (policy === null) return describeWithoutPolicy(certificate !== null, domain.cname_target === null)
  const renewsAt = status?.renews_at ?? null
  const job = status?.provisioning_job ?? null
  if (renewsAt !== null && job === null)
    return {
      tone: 'good',
      short: 'Served',
      text: `Visitors get a valid certificate. It is renewed by itself ${formatAgo(renewsAt, now)}.`,
      attention: false,
    }
  if (renewsAt === null && platform?.acme === false)
    return {
      tone: 'warn',
      short: 'Waits for the operator',
      text: 'This server does not obtain certificates: its operator has to start it with --acme-directory. Until then visitors get a certificate of the private authority of this platform, which browsers do not trust by themselves.',
      attention: true,
    }
  if (job === null || job.error_code === null)
    return renewsAt === null
      ? {
          tone: 'info',
          short: 'Being ordered',
          text: 'The first certificate is being ordered. This usually takes less than a minute.',
          attention: false,
        }
      : {
          tone: 'good',
          short: 'Being renewed',
          text: 'A new certificate is being ordered; until it is there the present one is served.',
          attention: false,
        }
  const retryText =
    job.retries_at === null
      ? 'It is not tried any more: save the domain again to have it tried anew.'
      : `It is tried again ${formatAgo(job.retries_at, now)}.`
  const servedText = renewsAt === null ? '' : ' The present certificate is served until it ends.'
  const dnsProblem = job.error_code === 'DNS_ERROR'
  return {
    tone: renewsAt === null ? 'bad' : 'warn',
    short: dnsProblem ? 'Waits for your DNS records' : 'Did not work yet',
    text: `${job.msg} ${retryText}${servedText}`,
    attention: true,
  }
}

function describeWithoutPolicy(uploaded: boolean, platformName: boolean): CertificateText {
  if (uploaded)
    return {
      tone: 'good',
      short: 'Your own',
      text: 'Visitors get the certificate you attached. It is not renewed by itself.',
      attention: false,
    }
  if (platformName)
    return {
      tone: 'good',
      short: 'Of the platform',
      text: 'The platform serves its own certificate for this name. There is nothing to do.',
      attention: false,
    }
  return {
    tone: 'warn',
    short: 'Private',
    text: 'Visitors get a certificate of the private authority of this platform, which browsers do not trust by themselves. Attach one, or have one obtained automatically.',
    attention: true,
  }
}
