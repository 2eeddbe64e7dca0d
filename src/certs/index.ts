export type { AcmeSettings } from './acme.ts'
export {
  type Authority,
  createAuthority,
  createSelfSigned,
  type KeyedCertificate,
  type LeafRequest,
  loadAuthority,
  renewAuthority,
  renewSelfSigned,
} from './authority.ts'
export { type Certs, type CertsOptions, createCerts } from './certs.ts'
export { AUTOMATIC_OFF, IN_PROGRESS } from './job.ts'
export {
  CertificateProblem,
  type CertificateProblemCode,
  certificateProblemCodes,
  type MaterialField,
} from './problem.ts'
export { type CertificateReport, describeCertificates, reportCertificates } from './report.ts'
export { createResolver, type NameResolver, ResolverFailed } from './resolver.ts'
export type { MaybeLater, ServedCertificate } from './served.ts'
export { createSshAuthority, type SshAuthorityKeys, type SshAuthorityRequest } from './ssh-authority.ts'
export {
  defaultSshValidity,
  defaultUserExtensions,
  newSshSerial,
  type SshCertificateRequest,
  signSshCertificate,
} from './ssh-certificate.ts'
export { parseSshPublicKey, type SshPublicKey, sshFingerprint } from './ssh-key.ts'
export {
  type CertificateAuthorityFacts,
  type PrivateKeyType,
  readCertificateAuthority,
  readTlsCertificate,
  type TlsCertificateFacts,
} from './x509.ts'
