import { randomBytes, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '../../certs/x509/asn1.ts'
import { writePem } from '../../certs/x509/pem.ts'

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const HOUR = 3_600_000

/** A client certificate with its key. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

/** An authority that issues client certificates. */
export interface ClientAuthority {
  readonly ca: string
  issue(
    commonName: string,
    options?: { dns?: string[]; emails?: string[]; expired?: boolean },
  ): Promise<ClientCertificate>
}

export async function createClientAuthority(
  commonName: string,
  { expired = false } = {},
): Promise<ClientAuthority> {
  const keys = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify'])
  const serialNumber = () => `40${randomBytes(8).toString('hex')}`
  const validity = (isExpired: boolean) => ({
    notBefore: new Date(Date.now() - 48 * HOUR),
    notAfter: new Date(Date.now() + (isExpired ? -1 : 24) * HOUR),
  })
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    ...validity(expired),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  })
  return {
    ca: writePem('CERTIFICATE', new Uint8Array(root.rawData)),
    async issue(name, { dns = [], emails = [], expired: isExpired = false } = {}) {
      const leafKeys = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify'])
      const leaf = await X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: [{ CN: [name] }],
        issuer: root.subjectName,
        ...validity(isExpired),
        signingAlgorithm: EC,
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
          new SubjectAlternativeNameExtension([
            ...(dns.length + emails.length === 0 ? [`${name}.test`] : dns).map((value) => ({
              type: 'dns' as const,
              value,
            })),
            ...emails.map((value) => ({ type: 'email' as const, value })),
          ]),
        ],
      })
      return {
        cert: writePem('CERTIFICATE', new Uint8Array(leaf.rawData)),
        key: writePem(
          'PRIVATE KEY',
          new Uint8Array(await webcrypto.subtle.exportKey('pkcs8', leafKeys.privateKey)),
        ),
      }
    },
  }
}
