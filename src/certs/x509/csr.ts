import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { Secret } from '../../base/values/secret.ts'
import {
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from './asn1.ts'

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

/** A certificate signing request (RFC 2986) for these host names, in DER; the subject is empty. */
export async function createCsr(names: readonly string[], key: Secret): Promise<Buffer> {
  const privateKey = createPrivateKey(key.reveal())
  const algorithm = privateKey.asymmetricKeyType === 'rsa' ? RSA : EC
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: {
      publicKey: createPublicKey(privateKey).toCryptoKey(algorithm, true, ['verify']) as CryptoKey,
      privateKey: privateKey.toCryptoKey(algorithm, false, ['sign']) as CryptoKey,
    },
    signingAlgorithm: algorithm,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
    ],
  })
  return Buffer.from(request.rawData)
}
