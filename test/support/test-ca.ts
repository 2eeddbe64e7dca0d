import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000

/** A key with its certificate, as PEM text. */
export interface TlsIdentity {
  cert: string
  key: string
}

/** A private authority for one test run. */
export interface TestCa {
  caPem: string
  /** A leaf for these names; an address becomes an IP subject alternative name. */
  issue(...names: string[]): Promise<TlsIdentity>
}

/** Creates an authority; its leaves are valid from a day before `now` to a day after it. */
export async function createTestCa({ now = Date.now() }: { now?: number } = {}): Promise<TestCa> {
  x509.cryptoProvider.set(webcrypto as Crypto)
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=test root',
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys: keys as webcrypto.CryptoKeyPair,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  })

  return {
    caPem: root.toString('pem'),
    async issue(...names) {
      const leafKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
      const leaf = await x509.X509CertificateGenerator.create({
        subject: `CN=${names[0]}`,
        issuer: root.subject,
        notBefore: new Date(now - DAY_MS),
        notAfter: new Date(now + DAY_MS),
        signingAlgorithm: ALGORITHM,
        publicKey: leafKeys.publicKey as CryptoKey,
        signingKey: keys.privateKey as CryptoKey,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.SubjectAlternativeNameExtension(
            names.map((value) => ({
              type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
              value,
            })),
          ),
        ],
      })
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', leafKeys.privateKey as CryptoKey))
      const body = pkcs8.toString('base64').replace(/(.{64})/g, '$1\n')
      return {
        cert: leaf.toString('pem'),
        key: `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`,
      }
    },
  }
}
