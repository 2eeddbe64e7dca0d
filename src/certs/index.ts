export {
  type Authority,
  createAuthority,
  createSelfSigned,
  type KeyedCertificate,
  type LeafRequest,
  loadAuthority,
} from './authority.ts'
export {
  CertificateProblem,
  type CertificateProblemCode,
  certificateProblemCodes,
  type MaterialField,
} from './problem.ts'
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
