/**
 * Certificates: what is served for each name, and how they are obtained and renewed. Begin with `certs.ts`, which wires
 * everything, and `lookup.ts`, which picks the certificate for a server name. `acme/` runs certificate jobs against an
 * ACME authority (the state machine is drawn in `acme/job.ts`), `x509/` reads and signs X.509 certificates, `ssh/` reads
 * SSH keys and signs SSH certificates. `problem.ts` holds all validation errors.
 */

export {
  createResolver,
  type NameResolver,
  ResolverError,
} from './acme/client/resolver.ts'
export { ChallengeRecords } from './acme/dns/challenge-records.ts'
export {
  type ConfiguredProvider,
  configureProvider,
  type DnsProviderName,
} from './acme/dns/providers.ts'
export { endManagement } from './acme/end-management.ts'
export { AUTOMATIC_OFF, IN_PROGRESS } from './acme/job.ts'
export { describeCertificates, reportCertificateFiles, reportCertificates } from './acme/report.ts'
export { describeRetries, retryCertificates } from './acme/retry.ts'
export { startAutoRenew } from './auto-renew.ts'
export { type Certs, type CertsOptions, createCerts } from './certs.ts'
export { CertificateProblem } from './problem.ts'
export { createSshAuthority } from './ssh/authority.ts'
export { DEFAULT_SSH_VALIDITY_MS, newSshSerial, signSshCertificate } from './ssh/certificate.ts'
export { parseSshPublicKey } from './ssh/public-key.ts'
export {
  type Authority,
  createAuthority,
  createSelfSigned,
  type KeyedCertificate,
  loadAuthority,
  renewSelfSigned,
} from './x509/authority.ts'
export {
  CertificateFiles,
  EXPIRY_WARNING_MS,
  type FileCertificate,
  readCertificateFiles,
} from './x509/certificate-files.ts'
export { createAgentContexts, createGatewayCertificate } from './x509/gateway-certificate.ts'
export { createOperatorAuthority, type OperatorAuthority } from './x509/operator-authority.ts'
export { openRootAuthority } from './x509/root-authority.ts'
export type { ServedCertificate } from './x509/served-certificate.ts'
export { readCertificateAuthority, readTlsCertificate } from './x509/x509.ts'
